// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retry is the pause before a port that was taken is tried again.
const retry = 15 * time.Second

// ParseAddress reads host:port or a port alone. Without a host it is 127.0.0.1: who wants the
// network to see it says so.
func ParseAddress(text string) (string, error) {
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", fmt.Errorf("want host:port or a port: %w", err)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("want a port from 0 to 65535, not %q", port)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Serve answers on the address until ctx ends. A port that is taken, or one that is lost,
// is tried again; the caller's work is not touched by it.
func Serve(ctx context.Context, address string, handler http.Handler, log *slog.Logger) {
	for {
		err := serve(ctx, address, handler, log)
		if ctx.Err() != nil {
			return
		}
		log.Warn("cannot serve metrics; the work goes on", "address", address, "error", err,
			"cure", "free the port or choose another one with --metrics-address", "retryIn", retry.String())
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
	}
}

func serve(ctx context.Context, address string, handler http.Handler, log *slog.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	log.Info("serving metrics", "address", listener.Addr().String())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		// The process ends; nothing waits for the answers under way.
		_ = server.Close()
	})
	defer stop()
	err = server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
