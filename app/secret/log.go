package secret

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"gopkg.in/natefinch/lumberjack.v2"
)

// Limits of the log: LogFiles files of LogMegabytes each, counting the one in use, and lines of LogLine bytes.
const (
	LogMegabytes = 10
	LogFiles     = 5
	LogLine      = 1 << 20
)

// OpenLog opens the program's log for appending, at level info. The file is 0600 and its folder, if it has to be made,
// 0700. Records pass the redactor twice: attribute by attribute, and as the line that is written. Longer lines than
// LogLine are cut. After Close the logger drops what it is given.
//
// The rotation keeps one idle goroutine of its library for as long as the process lives.
func OpenLog(path string, r *Redactor) (*slog.Logger, io.Closer, error) {
	return OpenLogAt(path, r, slog.LevelInfo)
}

// OpenLogAt is OpenLog with a level, which may change while the log is open.
func OpenLogAt(path string, r *Redactor, level slog.Leveler) (*slog.Logger, io.Closer, error) {
	if err := prepareLog(path); err != nil {
		return nil, nil, fmt.Errorf("opening log: %w", err)
	}
	rotated := &lumberjack.Logger{Filename: path, MaxSize: LogMegabytes, MaxBackups: LogFiles - 1}
	f := &logFile{rotated: rotated, clean: r.Writer(rotated)}
	return slog.New(r.Handler(slog.NewTextHandler(f, &slog.HandlerOptions{Level: level}))), f, nil
}

// prepareLog makes folder and file, since the rotation would make the folder readable for all and keeps the mode of a
// file it finds.
func prepareLog(path string) error {
	if err := privateFolder(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm() == fileMode {
		return err
	}
	return f.Chmod(fileMode)
}

// logFile is the file below a logger.
type logFile struct {
	mu      sync.Mutex
	closed  bool
	rotated *lumberjack.Logger
	clean   *Writer
}

func (f *logFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, fs.ErrClosed // or the rotation would open the file again
	}
	if len(p) > LogLine {
		if _, err := f.clean.Write(p[:LogLine]); err != nil {
			return 0, err
		}
		if _, err := f.clean.Write([]byte(" [cut]\n")); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return f.clean.Write(p)
}

// Close writes what is held back and closes the file. It may be called again.
func (f *logFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	flushErr := f.clean.Flush()
	if err := f.rotated.Close(); err != nil {
		return fmt.Errorf("closing log: %w", err)
	}
	return flushErr
}
