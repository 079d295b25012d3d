package wrapper

import "golang.org/x/sys/unix"

// noSuspendKey takes the terminal's suspend key (Ctrl-Z) away. A shell would notice that its job was
// suspended; here nobody would, above all when only a process below the provider was: one that is
// stopped between vfork and exec blocks its parent, which then does not count as stopped. Programs
// that read single keys still get the key as a character.
func noSuspendKey() error {
	settings, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil {
		return err
	}
	settings.Cc[unix.VSUSP] = noCharacter
	return unix.IoctlSetTermios(0, setTermios, settings)
}
