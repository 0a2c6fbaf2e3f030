package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fullChild meets a real limit on the size of its files: the kernel refuses writes as it does on a full disk.
func fullChild() {
	path := os.Getenv(pathVariable)
	s, err := Open(path, Options{})
	childFailed(err)
	ctx := context.Background()
	childFailed(s.Append(key(1), "main", user("before")).Wait(ctx))

	var old syscall.Rlimit
	childFailed(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	limit := old
	limit.Cur = 256 << 10
	childFailed(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	big := strings.Repeat("x", 1<<20)
	for range 3 {
		err := s.Append(key(2), "main", user(big)).Wait(ctx)
		fmt.Println("full:", errors.Is(err, syscall.EFBIG) || err != nil && strings.Contains(err.Error(), "file too large"), s.Err() != nil)
	}
	msgs, err := s.Messages(key(1), MessageQuery{})
	fmt.Println("reads:", len(msgs), err)
	err = s.Append(key(1), "main", user("small")).Wait(ctx)
	fmt.Println("small:", err)

	childFailed(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	childFailed(s.Append(key(2), "main", user(big)).Wait(ctx))
	fmt.Println("again:", s.Err())
	childFailed(s.Close())
	s, err = Open(path, Options{})
	childFailed(err)
	one, err := s.Messages(key(1), MessageQuery{})
	childFailed(err)
	two, err := s.Messages(key(2), MessageQuery{})
	childFailed(err)
	fmt.Println("stored:", len(one), len(two), s.Recovered())
	childFailed(s.Close())
}

func TestFullDisk(t *testing.T) {
	child, _, out := startChild(t, "full", filepath.Join(t.TempDir(), "ionclaw.db"))
	var lines []string
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	must(t, child.Wait())
	want := "full: true true|full: true true|full: true true|reads: 1 <nil>|small: <nil>|again: <nil>|stored: 2 1 "
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A folder that cannot be written to: as an ordinary user, also where the tests run as root.
func TestReadOnlyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	must(t, os.Mkdir(dir, 0o555))
	for d := filepath.Dir(dir); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755)) // so that the other user gets as far as the folder
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine and takes the identity along
		if os.Geteuid() == 0 {
			_ = unix.Setfsuid(65534)
		}
		_, err := Open(filepath.Join(dir, "ionclaw.db"), Options{})
		_, err2 := Open(filepath.Join(dir, "data", "ionclaw.db"), Options{})
		if !errors.Is(err2, os.ErrPermission) {
			err = errors.Join(err, fmt.Errorf("a new folder: %w", err2))
		}
		result <- err
	}()
	if err := <-result; !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "a new folder") {
		t.Errorf("got %v, want a refused permission that names the path", err)
	}
}
