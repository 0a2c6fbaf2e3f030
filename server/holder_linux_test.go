package server

import (
	"os"
	"path/filepath"
	"testing"
)

// A /proc of our own: a listener of another address, a connection on the same
// port, broken lines, a process that cannot be read.
func TestHolderIn(t *testing.T) {
	proc := t.TempDir()
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := func(local, state, inode string) string {
		return "   0: " + local + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000  1000        0 " + inode + " 1\n"
	}
	write(t, filepath.Join(proc, "net", "tcp"), head+
		line("0201A8C0:1F90", "0A", "11")+ // another interface
		line("0100007F:1F90", "01", "12")+ // a connection
		line("0100007F:1F91", "0A", "13")+ // another port
		"garbage\n\n0: x 0 0A 0 0 0 0 0 14\n"+
		line("00000000:1F90", "0A", "15"))
	write(t, filepath.Join(proc, "net", "tcp6"), head+
		line("00000000000000000000000001000000:1F92", "0A", "16"))
	for pid, fd := range map[string]string{"101": "socket:[12]", "102": "socket:[15]", "103": "socket:[16]"} {
		dir := filepath.Join(proc, pid)
		write(t, filepath.Join(dir, "comm"), "program-"+pid+"\n")
		if err := os.MkdirAll(filepath.Join(dir, "fd"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(fd, filepath.Join(dir, "fd", "3")); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(proc, "104", "comm"), "gone\n") // no fd folder
	for port, want := range map[int]Holder{
		8080: {102, "program-102"}, 8081: {}, 8082: {103, "program-103"}, 9999: {},
	} {
		if got := holderIn(proc, port); got != want {
			t.Errorf("port %d: got %+v, want %+v", port, got, want)
		}
	}
	if got := holderIn(filepath.Join(proc, "missing"), 8080); got != (Holder{}) {
		t.Errorf("without /proc: got %+v", got)
	}
}
