package wrapper

import "golang.org/x/sys/unix"

// prepareTerminal changes two settings of the session's terminal.
//
// It disables the suspend key (Ctrl-Z). A shell would notice that its job was suspended, but here there is none. It
// matters most when only a process below the provider is suspended: a process that is stopped between vfork and exec
// blocks its parent, which then does not count as stopped. Programs that read single keys still get the key as a
// character.
//
// And it keeps what was printed when Ctrl-C or Ctrl-\ interrupts the provider. By default the terminal then discards
// output that tmux has not read yet, and a stop would lose the end of the log.
func prepareTerminal() error {
	settings, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil {
		return err
	}
	settings.Cc[unix.VSUSP] = noCharacter
	settings.Lflag |= unix.NOFLSH
	return unix.IoctlSetTermios(0, setTermios, settings)
}
