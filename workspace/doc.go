// Package workspace makes working copies on a host, stores checkpoints of them, and removes them when nothing is lost by
// that. It has no notion of a session: the caller decides which process works in a copy, and when.
//
// Below the data directory:
//
//	mirrors/<name>/              a bare copy of a repository: fetched before each use; other repositories only read it
//	mirrors/<name>.lock          held while the mirror is used
//	work/<id>/                   a working copy; the agent may change everything in it
//	work/shared/<name>/          the repository that worktrees share; the agents may change everything in it
//	work/.removing-<id>/         a working copy whose removal has begun
//	checkpoints/<id>/            what svc stores for a working copy; agents do not write here:
//	    record                   the state; written before each step
//	    lock                     held while the working copy is prepared, checkpointed, landed or removed
//	    git/                     the private repository, with the checkpoints as refs/svc/<n>; reads the mirror's objects
//	    index                    the private index, of the folder's files; most of it is in git/sharedindex.*
//	    out/<n>.bundle, .patch   the newest checkpoint, for the orchestrator
//
// # Each step is recorded first
//
// Each step is recorded before it is executed. Until the record has the step "done", no agent has worked in the folder: a
// preparation that was interrupted is started again from nothing. After that, svc only reads the folder, until a removal
// has begun. A folder without a record was not made by svc and is never touched.
//
// # Nothing of the agent's is touched or executed
//
// A checkpoint is a commit in the private repository, made with the private index. The agent's index, HEAD, branches,
// stash and config are not written, and git is never executed with a config that the agent can write (package git
// explains how). Everything that a checkpoint needs is copied into the private repository, so that it remains when the
// agent deletes its own repository.
package workspace
