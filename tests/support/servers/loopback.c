/* Preloaded into a server that insists on every interface: keeps its ports on the loopback ones. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

typedef int (*bind_function)(int, const struct sockaddr *, socklen_t);

int bind(int socket_fd, const struct sockaddr *address, socklen_t length)
{
    bind_function next = (bind_function) dlsym(RTLD_NEXT, "bind");
    if (address->sa_family == AF_INET && length == sizeof(struct sockaddr_in)) {
        struct sockaddr_in changed;
        memcpy(&changed, address, sizeof changed);
        if (changed.sin_addr.s_addr == htonl(INADDR_ANY))
            changed.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return next(socket_fd, (struct sockaddr *) &changed, length);
    }
    if (address->sa_family == AF_INET6 && length == sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 changed;
        memcpy(&changed, address, sizeof changed);
        if (memcmp(&changed.sin6_addr, &in6addr_any, sizeof in6addr_any) == 0)
            changed.sin6_addr = in6addr_loopback;
        return next(socket_fd, (struct sockaddr *) &changed, length);
    }
    return next(socket_fd, address, length);
}
