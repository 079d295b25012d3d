package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"svc"
	"svc/process"
	"svc/provider"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

func itoa(n int) string { return strconv.Itoa(n) }

// start starts the session. Unless ctx has ended, an error other than errTaken means that nothing runs. The
// error is written for an operator: it names what was missing and where.
func (s *session) start(ctx context.Context) error {
	if err := s.w.ensureSockets(); err != nil {
		return s.spawnError(&hostFault{err})
	}
	launch, err := s.prepare(ctx)
	if err != nil {
		return s.spawnError(err)
	}
	if err := rundir.ReserveSinkState(s.sinkState()); err != nil {
		return s.spawnError(&hostFault{err})
	}
	permit, err := s.a.Grant(launch)
	if err != nil {
		return s.spawnError(&hostFault{err})
	}
	s.beginLog()
	s.beginTimes()
	s.rec.State = rundir.StateSpawning
	s.rec.Session = &rundir.Session{Socket: s.socket()}
	// On disk before the start: a worker that reads this record must expect that a session exists.
	if err := s.a.WriteDispatch(s.rec); err != nil {
		_ = os.Remove(permit)
		return s.spawnError(&hostFault{err})
	}
	dir := launch.Cwd
	if launch.Workspace != nil {
		dir = s.w.opts.Config.DataDir // the session itself makes the working copy
	}
	made, err := s.spawn(ctx, permit, dir)
	if err != nil && ctx.Err() != nil {
		s.postpone()
		return err
	}
	if err != nil {
		if !s.revoke() {
			return fmt.Errorf("%w: %w", errTaken, err)
		}
		if errors.Is(err, tmux.ErrNotInstalled) {
			err = fmt.Errorf("%w; install tmux %s or newer", err, tmux.MinVersion)
		}
		return s.spawnError(&hostFault{err})
	}
	s.makeRelay()
	s.found(made, s.socket())
	s.sendHint(s.w.uplink())
	return nil
}

// errTaken means that the terminal could not be found, but its wrapper has taken the permit: the provider may
// be running.
var errTaken = errors.New("the wrapper was started, but its session cannot be found")

// hostFault is the error of a start that failed because of a fault of this host, before a wrapper took the
// permit: nothing runs, and another host may be able to start the run.
type hostFault struct{ cause error }

func (f *hostFault) Error() string { return f.cause.Error() }
func (f *hostFault) Unwrap() error { return f.cause }

// postpone leaves an interrupted start to the next worker. If a wrapper has taken the permit already, the
// record stays as it is, and the next worker finds out what happened.
func (s *session) postpone() {
	if s.revoke() {
		s.rec.State, s.rec.Session = rundir.StateAccepted, nil
		s.save()
	}
}

// spawnTries is how often a start is tried while the socket is in use, with spawnPause between the tries.
const (
	spawnTries = 10
	spawnPause = 100 * time.Millisecond
	// spawnLimit is long, because giving up ends a provider that may be running already.
	spawnLimit = time.Minute
)

// spawn starts the terminal session. The socket may be in use by a tmux that a killed worker had started and
// that comes up late. The permit of that start was revoked, so that tmux has nothing to run and is closed.
func (s *session) spawn(ctx context.Context, permit, cwd string) (tmux.Session, error) {
	server := s.tmux(s.socket())
	server.Timeout = spawnLimit
	logFile := s.w.dir.LogPath(s.a.RunID)
	for try := 1; ctx.Err() == nil; try++ {
		// A shutdown must not interrupt the start: the provider may be running already, and would be killed.
		made, err := s.startScoped(context.WithoutCancel(ctx), server, permit, tmux.Spec{
			Name:    svc.SessionName(s.a.RunID),
			Argv:    append(append([]string{}, s.w.opts.WrapperArgv...), permit),
			Dir:     cwd,
			LogFile: logFile,
			Sink:    s.sinkArgv(logFile),
		})
		if !errors.Is(err, tmux.ErrRunning) || try == spawnTries {
			return made, err
		}
		found, inspectErr := server.Inspect(ctx, process.ID{})
		switch {
		case inspectErr != nil: // that tmux is just starting or ending
		case !s.same(found):
			return tmux.Session{}, fmt.Errorf("%w, with session %q", err, found.Name)
		default:
			s.closeTerminal(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(spawnPause):
		}
	}
	return tmux.Session{}, ctx.Err()
}

// startScoped starts the session in a scope of its own, if this host has scopes. If the scope cannot be made
// and no wrapper has taken the permit, the session is started without one: that is no reason to refuse a run.
func (s *session) startScoped(ctx context.Context, server tmux.Server, permit string, spec tmux.Spec) (tmux.Session, error) {
	spec.Within, spec.Env = s.w.scopes.within(s.a.RunID)
	made, err := server.Start(ctx, spec)
	if err == nil || spec.Within == nil || errors.Is(err, tmux.ErrRunning) {
		return made, err
	}
	if _, taken := os.Stat(permit); taken != nil {
		return made, err
	}
	s.w.scopes.failed(err)
	spec.Within, spec.Env = nil, nil
	return server.Start(ctx, spec)
}

// found records a live session and then sets its place.
func (s *session) found(made tmux.Session, socket string) {
	s.rec.State = rundir.StateRunning
	s.rec.Session = &rundir.Session{
		Socket: socket, Server: made.Server, PaneID: made.Pane, Pane: made.Process,
	}
	s.save() // before the place is set: the next worker finds the session by this record
	s.setPlace(place{
		server: s.tmux(socket), host: made.Server, pane: made.Pane, process: made.Process, live: true,
	})
	s.log.Info("session runs", "session_name", made.Name, "socket", socket, "pid", made.Process.PID)
}

// save writes the attempt's record. If the disk is full the run continues with the older record, by which a
// later worker can still find the session.
func (s *session) save() {
	if err := s.a.WriteDispatch(s.rec); err != nil {
		s.log.Error("the attempt's record could not be updated", "error", err)
	}
}

// spawnError adds the names of the provider and the host to an error.
func (s *session) spawnError(err error) error {
	return fmt.Errorf("%s was not started on host %s: %w; `svc provider doctor %s` on that host tells more",
		s.rec.Run.Provider, s.w.opts.Config.Worker.HostName, err, s.rec.Run.Provider)
}

// prepare writes the prompt and the hook config, and returns what the wrapper has to run.
func (s *session) prepare(ctx context.Context) (rundir.Launch, error) {
	run := s.rec.Run
	entry, err := s.w.registry.Current().Entry(run.Provider)
	if err != nil {
		return rundir.Launch{}, err
	}
	conversation, err := conversationOf(run, entry)
	if err != nil {
		return rundir.Launch{}, err
	}
	cwd, err := s.cwd()
	if err != nil {
		return rundir.Launch{}, err
	}
	restore, err := s.fetchRestore()
	if err != nil {
		return rundir.Launch{}, err
	}
	s.rec.KeepAlive = entry.KeepAlive
	s.keepView(entry.TUIType == provider.LineOriented)
	launch := rundir.Launch{
		RunID: run.RunID, TaskID: run.TaskID, Attempt: run.Attempt, Provider: run.Provider, Cwd: cwd,
		APIURL: s.w.server(), SignalToken: run.SignalToken, DataDir: s.w.opts.Config.DataDir,
		Workspace: run.Workspace, Restore: restore,
	}
	if worker := s.w.opts.Config.Worker; worker.Reap {
		launch.Reap = &rundir.Reap{Grace: worker.StopGrace[1], Keep: entry.KeepAlive}
	}
	if launch.Contain, err = s.contain(ctx, s.folder(cwd)); err != nil {
		return launch, err
	}
	if run.Prompt != "" || entry.OnStdin("") { // with a prompt on stdin, an empty one is a file too, not the terminal
		if err := s.a.WritePrompt(run.Prompt); err != nil {
			return launch, &hostFault{err}
		}
		launch.PromptFile = s.a.PromptPath()
	}
	hooks, err := entry.RenderHooks(s.a.HooksPath(), launch.APIURL, run.RunID)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return launch, &hostFault{err}
	}
	if err != nil {
		return launch, err
	}
	gateway := s.w.gateway()
	launch.Env = entry.Environ(provider.Session{
		Base: s.w.opts.Environ, Run: run.Env, Gateway: gateway, HooksConfig: hooks,
		Vars: s.variables(launch), SelfDir: s.w.selfDir(),
	})
	bin, err := entry.Find(lookup(launch.Env, "PATH")) // searched now; the probe's report may be out of date
	s.w.compareReport(run.Provider, err == nil)
	if err != nil {
		return launch, err
	}
	values := provider.Values{
		Args: run.Args, Prompt: run.Prompt, PromptFile: launch.PromptFile, APIKey: gateway.APIKey, Model: run.Model, HooksConfig: hooks,
		Conversation: conversation.ID, Resume: conversation.Resume,
	}
	if files := entry.ConversationPatterns(launch.Env); len(files) > 0 {
		launch.Conversation = &rundir.Conversation{ID: conversation.ID, Resume: conversation.Resume, Files: files}
	}
	if entry.OnStdin(run.Prompt) {
		values.Prompt, launch.Stdin = "", launch.PromptFile
	}
	launch.Argv = append([]string{bin}, entry.Argv(values)...)
	return launch, entry.CheckLengths(run.Prompt, launch.Argv, launch.Env)
}

// variables returns the SVC_ variables of a session.
func (s *session) variables(l rundir.Launch) map[string]string {
	vars := map[string]string{
		"SVC_API_URL": l.APIURL, "SVC_RUN_ID": l.RunID, "SVC_TASK_ID": l.TaskID, "SVC_ATTEMPT": itoa(l.Attempt),
		"SVC_RUN_DIR": l.AttemptFolder().SessionPath(),
	}
	if l.SignalToken != "" {
		vars["SVC_SIGNAL_TOKEN"] = l.SignalToken
	}
	if l.PromptFile != "" {
		vars["SVC_PROMPT_FILE"] = l.PromptFile
	}
	if s.rec.Run.Conversation != nil {
		vars["SVC_SIGNAL_FIELDS"] = "conversation" // an older orchestrator would refuse signals with it
	}
	return vars
}

// conversationOf returns the conversation that a run begins or resumes. If the entry cannot resume one, the run
// fails: otherwise it would begin another conversation without notice.
func conversationOf(run wire.RunDispatch, entry provider.Entry) (wire.Conversation, error) {
	switch {
	case run.Conversation == nil:
		return wire.Conversation{}, nil
	case run.Conversation.Resume && !entry.Resumes():
		return wire.Conversation{}, fmt.Errorf("the run goes on with a conversation, and the entry of %s on this host has no resume_argv_template", entry.ID)
	}
	return *run.Conversation, nil
}

// variable returns a value from the environment of sessions; false: it is empty or not set.
func (w *Worker) variable(name string) (string, bool) {
	value := lookup(w.opts.Environ, name)
	return value, value != ""
}

// homeHint returns the hint for a run without a configured working directory: a person should notice that its
// agent changes files in a home folder. It is derived from the dispatch, so that a restarted worker sends it
// too. Empty: no hint is needed.
func (w *Worker) homeHint(f *wire.RunDispatch) string {
	if f.Cwd != "" || w.opts.Config.Worker.Cwd != "" || f.Workspace != nil {
		return ""
	}
	return "no folder is set for it, so it works in the home folder " + lookup(w.opts.Environ, "HOME") +
		"; set one for the project: svc project update PROJECT --cwd DIR"
}

// cwd returns the run's working directory, otherwise the worker's, otherwise the home folder. In a working copy
// it is relative, and empty means its top.
func (s *session) cwd() (string, error) {
	if s.rec.Run.Workspace != nil {
		if sub := s.rec.Run.Cwd; sub != "" && !filepath.IsLocal(sub) {
			return "", fmt.Errorf("the working directory %q is not inside the run's working copy", sub)
		}
		return s.rec.Run.Cwd, nil
	}
	for _, dir := range []string{s.rec.Run.Cwd, s.w.opts.Config.Worker.Cwd} {
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("the working directory %q is not an absolute path", dir)
		}
		if !isDir(dir) {
			return "", fmt.Errorf("the working directory %s does not exist", dir)
		}
		return dir, nil
	}
	if home := lookup(s.w.opts.Environ, "HOME"); isDir(home) {
		return home, nil
	}
	return "", errors.New("there is no working directory: the run names none, [worker] cwd is not set and HOME does not exist")
}

func (s *session) sinkArgv(logFile string) []string {
	if len(s.w.opts.SinkArgv) == 0 {
		return nil
	}
	limit := strconv.FormatInt(s.w.opts.Config.Worker.MaxLogBytes, 10)
	return append(append([]string{}, s.w.opts.SinkArgv...), "--max", limit, logFile, s.sinkState(), s.timesPath())
}

// fileSize returns the size of a regular file; 0 for everything else, also for a missing file.
func fileSize(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// folder returns a run's working directory as an absolute path. In a working copy it need not exist yet.
func (s *session) folder(cwd string) string {
	if s.workspace == "" {
		return cwd
	}
	return filepath.Join(s.w.keeper.host.Path(s.workspace), cwd)
}
