// Package git runs the git program under a configuration of its own. It knows repositories, working
// trees, commits and bundles, nothing of what they are used for.
//
// # Whose repository
//
// A repository's config file, its hooks and its attributes can name programs: filters, file system
// monitors, ssh commands, credential helpers, diff and merge drivers, remote helpers, editors, pagers
// and more with each release. A list of them to switch off is never complete. So git is never executed with the
// config file of a repository that somebody else may write to:
//
//   - A [Repo] belongs to the caller alone. Every call names its folder (nothing is discovered), and the
//     caller's own settings are above those of the file.
//   - A [Tree] is any folder with files, looked at through a Repo and an index of the caller's choice. Files
//     and .gitattributes in it may name filters, but there is no config that defines them.
//   - The objects of a foreign repository are read as an alternate ([Repo.Borrowing]); its HEAD is read as a file
//     ([ReadHead]). Both are data.
//   - A nested repository is a folder with a name; no status is asked of it, because that would execute git inside.
//
// What belongs to the host's user (ssh keys, credential helpers, proxies, URL rewrites) is taken over for
// calls that reach a remote, by name, and for nothing else.
//
// # Knowing and not knowing
//
// An error says what git said. A call that warned although it succeeded has not seen everything: [Tree.Status]
// and [Tree.Update] return such warnings, and a caller that must be sure treats them as "unknown", never as "clean".
//
// # Ends
//
// Each call has a time limit and is a session of its own: it has no terminal to ask for a password at, and when
// its time is over, or its context, the whole process group is killed.
package git
