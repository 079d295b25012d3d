// Package tmux starts terminal sessions that outlive the process that started them, finds them again, shows
// their screens, types into them and ends them. It handles sessions and panes, and is independent of the
// programs inside.
//
// # One server per session
//
// A [Server] is one tmux server behind one socket of its own, and it has one session with one window with one
// pane. tmux could hold all sessions in one server. They are separate because a server is a single thread and a
// single process: a crash, a kill-server or a hang then costs one session instead of all, a slow capture of one
// session cannot delay a key typed into another, and a program that uses the tmux server around it sees no
// other session. A server costs about one megabyte and five milliseconds.
//
// # What outlives the caller
//
// Everything that must survive a restart of the caller belongs to the tmux server: the program, its screen, and
// the log. The log is written by a separate process through a pipe; the caller only reads the file. The pipe is
// opened by the same command as the session, since a pipe that is opened one call later misses the first
// output. After a restart the caller calls [Server.Inspect] and compares the process.ID values with those it
// has recorded: a pid together with its start time identifies a process permanently.
//
// # Certain and unknown states
//
// [ErrNoServer] is certain: no process listens on the socket. Any other error, a timeout included, means that
// the state is unknown, and never that the session is dead. [ErrSocketLost] is an unknown state that can be
// repaired: the server lives but its socket file was deleted; [Server.RestoreSocket] makes the server create it
// again.
//
// A pane stays when its program ends, so that the last screen can be read; [Session.Dead] is then set. This
// package does not return tmux's exit code of the program, because it is sometimes missing. Use Wait of the
// program's process to detect the end, and the program's own record for its result.
//
// # The last bytes
//
// A program that ends during a large output can lose the end of it: when tmux is notified of the exit, it
// closes the terminal once that seems empty, while the kernel may still be moving output to it. About one in a
// hundred such ends lost a few kilobytes, on the screen and in the log alike. So the program that is started
// here should outlive its last output by a fifth of a second; a program that supervises the real one can easily
// do that. The output that arrives is exact and in order. The log is complete later than the pane's death, by
// the time that the sink needs to write.
//
// # Safety of arguments
//
// Programs are executed directly, never through a shell line made of their arguments. Characters that tmux
// would interpret (a trailing semicolon, a format such as #{pid}, a strftime conversion in the log's path) are
// escaped here, so any argument, path or typed text is data. Pass secrets to a program only in the environment:
// arguments appear in process lists.
package tmux
