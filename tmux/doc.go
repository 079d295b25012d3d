// Package tmux starts terminal sessions that outlive the process that started them, finds them
// again, shows their screens, types into them and ends them. It knows sessions and panes, nothing
// of what runs inside.
//
// # One server per session
//
// A [Server] is one tmux server behind one socket of its own, and it holds one session with one
// window with one pane. tmux could hold all sessions in one server; they are kept apart because a
// server is a single thread and a single process. A crash, a kill-server or a wedge then costs one
// session instead of all, a slow capture of one cannot delay a key typed into another, and a
// program that talks to the tmux around it meets nobody else. A server costs about one megabyte
// and five milliseconds.
//
// # What outlives the caller
//
// Everything that must survive a restart of the caller belongs to the tmux server: the program, its
// screen, and the log. The log is written by a pipe that is opened by the same command as the session
// (a pipe opened one call later misses the first output), by a program of its own: the caller only
// reads the file. A caller that comes back asks [Server.Inspect] and compares the process.ID values
// with those it wrote down: a pid together with its start time names a process once and for ever.
//
// # Knowing and not knowing
//
// [ErrNoServer] is knowledge: nobody listens on the socket. Any other error, a timeout included,
// means that the state is unknown, and never that the session is dead. [ErrSocketLost] is a kind of
// unknown with a remedy: the server lives but its socket file was deleted;
// [Server.RestoreSocket] makes the server create it anew.
//
// A pane stays when its program ends, so that the last screen can be read; [Session.Dead] tells.
// tmux's own idea of an exit code is not offered, because it is now and then missing. Use
// Wait of its process for the moment of the end, and the program's own record for its result.
//
// # The last bytes
//
// A program that ends in the middle of a flood can lose the end of it: when tmux hears of the exit
// it closes the terminal once it seems empty, while the kernel may still be moving output towards
// it. About one in a hundred such ends lost a few kilobytes, on the screen and in the log alike. So
// the program that is started here should outlive its last output by a fifth of a second; one that
// supervises the real program does that easily. What does arrive is exact and in order. The log in
// turn is behind the pane's death by the time that the sink needs to write.
//
// # Safety of arguments
//
// Programs are executed directly, never through a shell line made of their arguments. What tmux
// would read as something else (a trailing semicolon, a format such as #{pid}, a strftime
// conversion in the log's path) is escaped here, so any argument, path or typed text is data.
// The environment is the only way to give a program a secret: arguments show up in process lists.
package tmux
