// What the tests need of Linux that Swift's view of glibc leaves out. Error numbers come back as they are, negated where there is
// a descriptor to be had.
#pragma once

// A new network namespace, as a descriptor. The calling thread stays where it is.
int namespace_make(void);

// Moves the calling thread into a namespace.
int namespace_enter(int descriptor);

// The namespace of the calling thread, as a descriptor.
int namespace_current(void);

// Reads from the tun device of that name, which is made if there is none: a descriptor.
int namespace_open_tun(const char *name);

// Makes a tun device stay when its reader goes.
int namespace_keep_tun(int descriptor);
