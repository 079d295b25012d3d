package tmux

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peerPID returns the process that listens at the other end.
func peerPID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Pid), nil
}

// listenerPID finds the process that listens on a path whose file is gone: the kernel's table keeps the path as
// long as the socket lives. It returns 0 when there is none, or none that the user may inspect.
func listenerPID(path string) (int, error) {
	inode, err := listenerInode(path)
	if err != nil || inode == "" {
		return 0, err
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != "socket:["+inode+"]" {
			continue
		}
		return strconv.Atoi(strings.Split(link, "/")[2])
	}
	return 0, nil
}

// starting reports whether a process lives that was started to serve the socket: a server keeps the arguments
// of its call, also before it listens.
func starting(socket string) bool {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return false
	}
	for _, path := range commands {
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "\x00-S\x00"+socket+"\x00") {
			return true
		}
	}
	return false
}

// listenerInode reads the table of Unix sockets: address, count, protocol, flags, type, state, inode, path. It
// returns an empty string when no process listens on path.
func listenerInode(path string) (string, error) {
	const accepting = "00010000"
	table, err := os.Open("/proc/net/unix")
	if err != nil {
		return "", err
	}
	defer func() { _ = table.Close() }()
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || fields[3] != accepting || !strings.HasSuffix(lines.Text(), " "+path) {
			continue
		}
		return fields[6], nil
	}
	return "", lines.Err()
}
