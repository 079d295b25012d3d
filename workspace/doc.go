// Package workspace makes working copies on a host, keeps what is written in them, and removes them when nothing
// is lost by it. It knows no sessions: who works in a copy, and when, is the caller's to say.
//
// Below the data directory:
//
//	mirrors/<name>/              a bare copy of a repository: fetched before each use, only ever read by others
//	mirrors/<name>.lock          held while the mirror is worked on
//	work/<id>/                   a working copy; the agent's, with all that is in it
//	work/shared/<name>/          the repository of worktrees; the agents' too
//	work/.removing-<id>/         a working copy whose removal has begun
//	checkpoints/<id>/            what is ours of a working copy:
//	    record                   where it stands; written before each step
//	    lock                     held while it is worked on
//	    git/                     a repository with the checkpoints, refs/svc/<n>; reads the mirror's objects
//	    index                    what the last checkpoint knew of the folder's files; most of it is in git/sharedindex.*
//	    out/<n>.bundle, .patch   the newest checkpoint, to be sent up
//
// # Intent before the deed
//
// The record names each step before it is taken. Until the record says ready, nothing in the folder is an agent's: whoever
// finds a preparation that was cut off begins it again from nothing. From then on the folder is only ever read,
// until a removal has begun. A folder that no record speaks of is not ours and is never touched.
//
// # Nothing of the agent's is touched or executed
//
// A checkpoint is a commit in our own repository, made with our own index. The agent's index, HEAD, branches, stash and
// config are not written, and git is never executed with a config that the agent can write (package git says how).
// Everything a checkpoint needs is copied into our repository, so that it stands when the agent deletes its own.
package workspace
