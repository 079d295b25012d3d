// Package git runs the git program under a configuration of its own. Its nouns are repositories, working trees, commits
// and bundles; it does not depend on what they are used for.
//
// # Whose repository
//
// A repository's config file, its hooks and its attributes can name programs: filters, file system monitors, ssh commands,
// credential helpers, diff and merge drivers, remote helpers, editors, pagers and more with each release. A list of
// settings that switch them off is never complete. Git is therefore never executed with the config file of a repository
// that others may write to:
//
//   - A [Repo] belongs to the caller alone. Every call names its folder (nothing is discovered), and the caller's own
//     settings override those of its config file.
//   - A [Tree] is any folder with files, read through a Repo and an index that the caller chooses. Files and
//     .gitattributes in it may name filters, but no config defines these filters.
//   - The objects of a foreign repository are read as an alternate ([Repo.Borrowing]); its HEAD is read as a file
//     ([ReadHead]). Both are data.
//   - A nested repository is a folder with a name. Its status is never computed, because git would execute itself inside.
//
// Some settings of the host's user (ssh command, credential helpers, proxies, URL rewrites) apply to calls that connect to
// a remote. They are copied by name, and apply to no other call.
//
// # Incomplete results
//
// The text of an error contains git's own message. A call that succeeded with a warning may not have read everything:
// [Tree.Status] and [Tree.Update] return such warnings, and a caller that must be sure treats them as "unknown", never as
// "clean".
//
// # Time limits
//
// Each call has a time limit and runs in a session of its own: it has no terminal at which git could ask for a password.
// When its time limit is exceeded, or its context ends, the whole process group is killed.
package git
