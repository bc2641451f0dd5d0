// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich"
)

// logger writes JSON records that all have the attributes of the attachment.
// slog.Logger would encode these for every ADD, and a time of the local zone, whose
// file it reads for that; few ADDs have more than one thing to say.
type logger struct {
	handler    slog.Handler
	attachment []slog.Attr
}

// newLogger logs to stderr, and to the file of the configuration when it can be
// opened. A file that cannot is a warning.
func newLogger(stderr io.Writer, config Config, attachment ...slog.Attr) *logger {
	options := &slog.HandlerOptions{Level: config.LogLevel}
	l := &logger{slog.NewJSONHandler(stderr, options), attachment}
	if config.LogFile == "" {
		return l
	}
	file, err := openLog(config.LogFile)
	if err != nil {
		l.log(slog.LevelWarn, "log file left out", slog.String("logFile", config.LogFile), slog.String("error", err.Error()))
		return l
	}
	l.handler = slog.NewJSONHandler(tee{stderr, file}, options)
	return l
}

// log writes a record.
func (l *logger) log(level slog.Level, message string, attrs ...slog.Attr) {
	if !l.handler.Enabled(context.Background(), level) {
		return
	}
	record := slog.NewRecord(time.Now().UTC(), level, message, 0)
	record.AddAttrs(l.attachment...)
	record.AddAttrs(attrs...)
	// The log is no reason to fail: what cannot be written is lost.
	_ = l.handler.Handle(context.Background(), record)
}

// tee writes a record to both, to the one even when the other fails.
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

// outcome says in one line what an ADD did, and why when it did not do more.
func (l *logger) outcome(outcome enrich.Outcome) {
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
		l.log(level, message, attrs...)
	}
}
