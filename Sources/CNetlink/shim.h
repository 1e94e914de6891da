// What Swift needs of libnl and of the kernel's own headers, and nothing else.
#pragma once

#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/nl80211.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <sys/syscall.h>
#include <unistd.h>

// glibc declares recvmmsg and its struct for GNU sources only, which Swift's importer does not compile as.
struct cnl_mmsghdr {
    struct msghdr msg_hdr;
    unsigned int msg_len;
};

static inline int cnl_recvmmsg(int fd, struct cnl_mmsghdr *messages, unsigned int count, int flags) {
    return (int)syscall(SYS_recvmmsg, fd, messages, count, flags, 0);
}
