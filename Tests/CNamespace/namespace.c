#define _GNU_SOURCE
#include "namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int namespace_current(void) {
    int descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    return descriptor >= 0 ? descriptor : -errno;
}

int namespace_enter(int descriptor) { return setns(descriptor, CLONE_NEWNET) == 0 ? 0 : errno; }

int namespace_make(void) {
    int before = namespace_current();
    if (before < 0) return before;
    int made = unshare(CLONE_NEWNET) == 0 ? namespace_current() : -errno;
    if (made >= 0 && namespace_enter(before) != 0) {
        close(made);
        made = -errno;
    }
    close(before);
    return made;
}

int namespace_open_tun(const char *name) {
    int descriptor = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(descriptor, TUNSETIFF, &request) != 0) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int namespace_keep_tun(int descriptor) { return ioctl(descriptor, TUNSETPERSIST, 1) == 0 ? 0 : errno; }
