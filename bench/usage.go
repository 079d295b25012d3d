package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuUse is the processor time of the parts of a site so far.
type cpuUse struct{ clients, orchestrators, database time.Duration }

// since returns a text with the difference to an earlier time, per operation, for n operations.
func (u cpuUse) since(before cpuUse, n int) string {
	each := func(d time.Duration) string { return figure(ms(d) / float64(n)) }
	return fmt.Sprintf("CPU of one: clients %s, orchestrators %s, PostgreSQL %s ms",
		each(u.clients-before.clients), each(u.orchestrators-before.orchestrators), each(u.database-before.database))
}

func (s *memberSite) cpu() cpuUse {
	u := cpuUse{clients: cpuTime(), database: cpuOfServer(s.dsn)}
	for _, o := range s.All {
		u.orchestrators += cpuOf(o.PID())
	}
	return u
}

// cpuOfServer returns the processor time of the test's own PostgreSQL: its first process and the processes that it
// started.
func cpuOfServer(dsn string) time.Duration {
	u, err := url.Parse(dsn)
	if err != nil {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(u.Query().Get("host"), "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	server, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	sum := cpuOf(server)
	others, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range others {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if fields := statOf(pid); err == nil && len(fields) > parentField && fields[parentField] == first {
			sum += cpuOf(pid)
		}
	}
	return sum
}

// The fields of /proc/PID/stat after the program's name. The times of children are those of children that have ended.
const (
	parentField   = 1
	userField     = 11
	systemField   = 12
	childrenUser  = 13
	childrenSys   = 14
	clockTickTime = 10 * time.Millisecond
)

// cpuOf returns the processor time of a process and of its children that have ended; 0: it cannot be read.
func cpuOf(pid int) time.Duration {
	fields := statOf(pid)
	if len(fields) <= childrenSys {
		return 0
	}
	var sum time.Duration
	for _, i := range []int{userField, systemField, childrenUser, childrenSys} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * clockTickTime
	}
	return sum
}

func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}
