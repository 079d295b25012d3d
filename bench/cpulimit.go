package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// limitPeriod is short, so that a process that has used up its quota of a period waits only a few milliseconds for
// the next.
const limitPeriod = 10 * time.Millisecond

// cgroups are the folders of the two versions of control groups, with a function that sets the limit on processor
// time in each.
var cgroups = []struct {
	root  string
	limit func(dir string, quota, period string) error
}{
	{"/sys/fs/cgroup/cpu", func(dir, quota, period string) error {
		return errors.Join(writeLimit(dir, "cpu.cfs_period_us", period), writeLimit(dir, "cpu.cfs_quota_us", quota))
	}},
	{"/sys/fs/cgroup", func(dir, quota, period string) error {
		return writeLimit(dir, "cpu.max", quota+" "+period)
	}},
}

// limitCPU limits each process to a number of cores, as if each ran on a small machine of its own, until lift is
// called. It needs Linux and the right to make control groups.
func limitCPU(cores float64, pids ...int) (lift func() error, err error) {
	var undo []func() error
	lift = func() (err error) {
		for _, do := range undo {
			err = errors.Join(err, do())
		}
		return err
	}
	for _, pid := range pids {
		back, err := limitOne(cores, pid)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("limit the processor time of process %d: %w", pid, err), lift())
		}
		undo = append(undo, back)
	}
	return lift, nil
}

func limitOne(cores float64, pid int) (lift func() error, err error) {
	quota := strconv.FormatInt((time.Duration(cores * float64(limitPeriod))).Microseconds(), 10)
	for _, group := range cgroups {
		dir := filepath.Join(group.root, fmt.Sprintf("svc-bench-%d", pid))
		if made := os.Mkdir(dir, 0o755); made != nil && !errors.Is(made, fs.ErrExist) { // a killed run has left it
			err = errors.Join(err, made)
			continue
		}
		failed := group.limit(dir, quota, strconv.FormatInt(limitPeriod.Microseconds(), 10))
		if failed == nil {
			failed = writeLimit(dir, "cgroup.procs", strconv.Itoa(pid))
		}
		if failed != nil {
			err = errors.Join(err, failed, os.Remove(dir))
			continue
		}
		return func() error {
			return errors.Join(writeLimit(group.root, "cgroup.procs", strconv.Itoa(pid)), os.Remove(dir))
		}, nil
	}
	return nil, err
}

func writeLimit(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0) // not created: a folder without it is no control group
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
