// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich"
)

// newLogger logs JSON to stderr, and to the file of the configuration when it
// can be opened. A file that cannot is a warning.
func newLogger(stderr io.Writer, config Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: config.LogLevel}
	if config.LogFile == "" {
		return slog.New(slog.NewJSONHandler(stderr, options))
	}
	file, err := openLog(config.LogFile)
	if err != nil {
		logger := slog.New(slog.NewJSONHandler(stderr, options))
		logger.Warn("log file left out", "logFile", config.LogFile, "error", err.Error())
		return logger
	}
	return slog.New(slog.NewJSONHandler(tee{stderr, file}, options))
}

// tee writes a record to both. The log is no reason to fail: what cannot be
// written is lost.
type tee struct {
	stderr io.Writer
	file   Descriptor
}

func (t tee) Write(record []byte) (int, error) {
	_, errFile := t.file.Write(record)
	if n, err := t.stderr.Write(record); err != nil {
		return n, err
	}
	return len(record), errFile
}

// Descriptor writes to a file descriptor that stays open until the process ends.
//
// It is for stderr too: os.Stderr would end the process with SIGPIPE when nobody
// reads it any more, and with it an ADD that is otherwise fine.
type Descriptor int

// Write is one system call, which keeps lines of concurrent ADDs apart in an
// appended file.
func (d Descriptor) Write(record []byte) (int, error) { return unix.Write(int(d), record) }

// openLog opens the log for appending. No link is followed, so that whoever can
// write to the directory cannot point root at another file, and a FIFO or a
// device cannot hold up a pod's start.
func openLog(path string) (Descriptor, error) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return -1, fmt.Errorf("open log file: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("open log file: %w", err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, fmt.Errorf("open log file: %s is not a regular file", path)
	}
	return Descriptor(fd), nil
}

// logOutcome says in one line what an ADD did, and why when it did not do more.
func logOutcome(logger *slog.Logger, outcome enrich.Outcome) {
	var attrs []slog.Attr
	level, message := slog.LevelInfo, "repaired the Result"
	if outcome.LeftAlone != nil {
		message = "left the Result alone"
		attrs = append(attrs, slog.String("reason", outcome.LeftAlone.Error()))
		if outcome.Failure() != nil || errors.Is(outcome.LeftAlone, enrich.ErrUnowned) {
			level = slog.LevelWarn
		} else if len(outcome.Repairs) == 0 {
			// What is as it should be, or is somebody's intent, is no news.
			level = slog.LevelDebug
		}
	}
	if len(outcome.Repairs) > 0 {
		attrs = append(attrs, slog.Any("repairs", outcome.Repairs))
	}
	if len(attrs) > 0 {
		logger.LogAttrs(context.Background(), level, message, attrs...)
	}
}
