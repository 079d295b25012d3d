package wrapper

import "golang.org/x/sys/unix"

// noSuspendKey disables the terminal's suspend key (Ctrl-Z). A shell would notice that its job was suspended,
// but here there is none. It matters most when only a process below the provider is suspended: a process that
// is stopped between vfork and exec blocks its parent, which then does not count as stopped. Programs that read
// single keys still get the key as a character.
func noSuspendKey() error {
	settings, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil {
		return err
	}
	settings.Cc[unix.VSUSP] = noCharacter
	return unix.IoctlSetTermios(0, setTermios, settings)
}
