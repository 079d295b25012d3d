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

// start makes the session. An error means that nothing runs, and is for a person: it names what was
// missing and where.
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
	// On disk before it is done: a worker that finds this record knows that a session may exist.
	if err := s.a.WriteDispatch(s.rec); err != nil {
		_ = os.Remove(permit)
		return s.spawnError(&hostFault{err})
	}
	dir := launch.Cwd
	if launch.Workspace != nil {
		dir = s.w.opts.Config.DataDir // the working copy is made in the session
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
	s.tellHint(s.w.uplink())
	return nil
}

// errTaken says that the terminal could not be seen, but its wrapper has taken the permit: the provider
// may be at work.
var errTaken = errors.New("the session was started and cannot be seen")

// hostFault is a start that failed for a reason that is this host's own, before any wrapper took the
// permit: nothing runs, and another host may do better.
type hostFault struct{ cause error }

func (f *hostFault) Error() string { return f.cause.Error() }
func (f *hostFault) Unwrap() error { return f.cause }

// postpone leaves a start that was interrupted to the next worker, unless a wrapper was quicker: then
// that worker finds out what became of it.
func (s *session) postpone() {
	if s.revoke() {
		s.rec.State, s.rec.Session = rundir.StateAccepted, nil
		s.save()
	}
}

// How often, and after which pause, a socket that is taken is tried again.
const (
	spawnTries = 10
	spawnPause = 100 * time.Millisecond
	// spawnLimit is generous: giving up ends a provider that may be at work already.
	spawnLimit = time.Minute
)

// spawn makes the terminal session. The socket may be taken by what a killed worker had under way: a
// tmux that comes up late. Its permit was revoked, so it is an empty shell and goes.
func (s *session) spawn(ctx context.Context, permit, cwd string) (tmux.Session, error) {
	server := s.tmux(s.socket())
	server.Timeout = spawnLimit
	logFile := s.w.dir.LogPath(s.a.RunID)
	for try := 1; ctx.Err() == nil; try++ {
		// Not broken off by a shutdown: the provider may be at work already, and would be killed.
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
		case inspectErr != nil: // it is coming or going
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

// startScoped starts the session in a scope of its own where there are scopes. One that cannot be made is
// no reason to refuse a run: as long as nobody has taken the permit, it is started without.
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

// found records a live session and makes it known.
func (s *session) found(made tmux.Session, socket string) {
	s.rec.State = rundir.StateRunning
	s.rec.Session = &rundir.Session{
		Socket: socket, Server: made.Server, PaneID: made.Pane, Pane: made.Process,
	}
	s.save() // before it can be reached: its record is how others find it
	s.setPlace(place{
		server: s.tmux(socket), host: made.Server, pane: made.Pane, process: made.Process, live: true,
	})
	s.log.Info("session runs", "session_name", made.Name, "socket", socket, "pid", made.Process.PID)
}

// save writes the attempt's record. On a full disk the run goes on with the older one, which a later
// worker can still find the session by.
func (s *session) save() {
	if err := s.a.WriteDispatch(s.rec); err != nil {
		s.log.Error("the attempt's record is not up to date", "error", err)
	}
}

// spawnError names the provider and the host.
func (s *session) spawnError(err error) error {
	return fmt.Errorf("%s was not started on host %s: %w; `svc provider doctor %s` on that host tells more",
		s.rec.Run.Provider, s.w.opts.Config.Worker.HostName, err, s.rec.Run.Provider)
}

// prepare writes the prompt and the hook config and describes what the wrapper shall run.
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
	if run.Prompt != "" || entry.OnStdin("") { // an entry that reads its prompt there never gets the terminal instead
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
	bin, err := entry.Find(lookup(launch.Env, "PATH")) // now, whatever was reported
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

// variables is what a session knows about itself.
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

// conversationOf is the conversation that a run begins or goes on with. An entry that cannot go on with one fails the run: it would
// begin another one, unnoticed.
func conversationOf(run wire.RunDispatch, entry provider.Entry) (wire.Conversation, error) {
	switch {
	case run.Conversation == nil:
		return wire.Conversation{}, nil
	case run.Conversation.Resume && !entry.Resumes():
		return wire.Conversation{}, fmt.Errorf("the run goes on with a conversation, and the entry of %s on this host has no resume_argv_template", entry.ID)
	}
	return *run.Conversation, nil
}

// variable looks into the environment of the sessions.
func (w *Worker) variable(name string) (string, bool) {
	value := lookup(w.opts.Environ, name)
	return value, value != ""
}

// homeHint says that nobody named a folder for the run: an agent that changes files should not do so in a home unnoticed. It is
// derived from the dispatch, so a worker that was restarted tells it too.
func (w *Worker) homeHint(f *wire.RunDispatch) string {
	if f.Cwd != "" || w.opts.Config.Worker.Cwd != "" || f.Workspace != nil {
		return ""
	}
	return "nobody named a folder for it, so it works in the home folder " + lookup(w.opts.Environ, "HOME") +
		"; set one for the project: svc project update PROJECT --cwd DIR"
}

// cwd is the run's working directory, else the worker's, else the home.
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

// fileSize is 0 for a file that is not there yet, or is not a regular one.
func fileSize(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// folder is a run's working directory as an absolute path. That of a working copy need not exist yet.
func (s *session) folder(cwd string) string {
	if s.workspace == "" {
		return cwd
	}
	return filepath.Join(s.w.keeper.host.Path(s.workspace), cwd)
}
