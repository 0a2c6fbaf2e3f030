package server

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// findHolder asks /proc which process listens on the port. Only processes of
// the same user can be looked into; for others it finds nothing.
func findHolder(port int) Holder { return holderIn("/proc", port) }

func holderIn(proc string, port int) Holder {
	sockets := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		for _, inode := range listeningInodes(filepath.Join(proc, "net", table), port) {
			sockets["socket:["+inode+"]"] = true
		}
	}
	if len(sockets) == 0 {
		return Holder{}
	}
	processes, err := os.ReadDir(proc)
	if err != nil {
		return Holder{}
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(proc, p.Name())
		files, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue // another user's, or gone
		}
		for _, f := range files {
			if target, err := os.Readlink(filepath.Join(dir, "fd", f.Name())); err == nil && sockets[target] {
				name, _ := os.ReadFile(filepath.Join(dir, "comm")) // the pid alone is an answer too
				return Holder{PID: pid, Name: strings.TrimSpace(string(name))}
			}
		}
	}
	return Holder{}
}

// stateListen is TCP_LISTEN in the kernel's socket tables.
const stateListen = "0A"

// listeningInodes reads a socket table (proc(5), /proc/net/tcp): fields are
// slot, local address as HEX:PORT, remote address, state, four more of queues
// and timers and user and time-out, inode.
func listeningInodes(path string, port int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var inodes []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != stateListen {
			continue
		}
		_, hex, ok := strings.Cut(fields[1], ":")
		if p, err := strconv.ParseUint(hex, 16, 16); ok && err == nil && int(p) == port && holdsLoopback(fields[1]) {
			inodes = append(inodes, fields[9])
		}
	}
	return inodes
}

// holdsLoopback tells whether a socket on this local address keeps a loopback
// port from others: the wildcard addresses, 127.0.0.1, [::1] and the mapped
// 127.0.0.1. Addresses are 32-bit words in the byte order of the machine.
func holdsLoopback(local string) bool {
	address, _, _ := strings.Cut(local, ":")
	switch address {
	case "00000000", "0100007F", "7F000001",
		"00000000000000000000000000000000",
		"00000000000000000000000001000000", "00000000000000000000000000000001",
		"0000000000000000FFFF00000100007F", "00000000000000000000FFFF7F000001":
		return true
	}
	return false
}
