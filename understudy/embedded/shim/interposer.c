/* Gives every pod ports of its own, without a network namespace: loaded before a pod's programs, it turns
 *
 *   bind     to any address or to localhost, at a fixed TCP port, into the same port of the pod's own address,
 *   connect  to localhost into a connection to the pod's own address, where something listens there.
 *
 * The address is in UNDERSTUDY_ADDRESS. UDP, port 0 and all other addresses are left alone. Programs that talk to
 * the kernel without the C library (static binaries) do not pass here.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int (*call)(int, const struct sockaddr *, socklen_t);

/* Either family, large enough for both. */
union place {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static call original(const char *name) { return (call)dlsym(RTLD_NEXT, name); }

static int own_address(struct in_addr *address) {
    const char *text = getenv("UNDERSTUDY_ADDRESS");
    return text != NULL && inet_pton(AF_INET, text, address) == 1;
}

static int option(int socket, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(socket, level, name, &value, &size) == 0 ? value : 0;
}

static int is_local(const union place *place) {
    if (place->any.sa_family == AF_INET)
        return place->v4.sin_addr.s_addr == htonl(INADDR_ANY) || place->v4.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    const struct in6_addr *address = &place->v6.sin6_addr;
    static const unsigned char mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    return IN6_IS_ADDR_UNSPECIFIED(address) || IN6_IS_ADDR_LOOPBACK(address) || memcmp(address, mapped, 16) == 0;
}

/* Whether the call is about a fixed TCP port of this machine as such; if so, with what it is about in `place`. */
static int concerns(int socket, const struct sockaddr *address, socklen_t size, union place *place) {
    if (address == NULL || size > sizeof *place) return 0;
    if (!(address->sa_family == AF_INET && size >= sizeof place->v4) &&
        !(address->sa_family == AF_INET6 && size >= sizeof place->v6))
        return 0;
    memcpy(place, address, size);
    in_port_t port = place->any.sa_family == AF_INET ? place->v4.sin_port : place->v6.sin6_port;
    return port != 0 && is_local(place) && option(socket, SOL_SOCKET, SO_TYPE) == SOCK_STREAM;
}

static void move_to(union place *place, struct in_addr own) {
    if (place->any.sa_family == AF_INET) {
        place->v4.sin_addr = own;
        return;
    }
    memset(&place->v6.sin6_addr, 0, sizeof place->v6.sin6_addr);
    place->v6.sin6_addr.s6_addr[10] = place->v6.sin6_addr.s6_addr[11] = 0xff;
    memcpy(&place->v6.sin6_addr.s6_addr[12], &own, sizeof own);
}

static int is_v6_only(int socket, const union place *place) {
    return place->any.sa_family == AF_INET6 && option(socket, IPPROTO_IPV6, IPV6_V6ONLY);
}

/* Tries to bind to the address: that fails only if another socket has it. */
static int is_address_in_use(struct in_addr own, in_port_t port) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = port, .sin_addr = own};
    int saved = errno, one = 1;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return 0;
    setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    int taken = original("bind")(probe, (struct sockaddr *)&place, sizeof place) != 0 && errno == EADDRINUSE;
    close(probe);
    errno = saved;
    return taken;
}

int bind(int socket, const struct sockaddr *address, socklen_t size) {
    union place place;
    struct in_addr own;
    if (!own_address(&own) || !concerns(socket, address, size, &place)) return original("bind")(socket, address, size);
    if (is_v6_only(socket, &place)) { /* the pod has no address of this family: no client uses it, so any port will do */
        place.v6.sin6_addr = in6addr_loopback;
        place.v6.sin6_port = 0;
    } else {
        move_to(&place, own);
    }
    return original("bind")(socket, &place.any, size);
}

int connect(int socket, const struct sockaddr *address, socklen_t size) {
    union place place;
    struct in_addr own;
    if (!own_address(&own) || !concerns(socket, address, size, &place) || is_v6_only(socket, &place))
        return original("connect")(socket, address, size);
    in_port_t port = place.any.sa_family == AF_INET ? place.v4.sin_port : place.v6.sin6_port;
    if (is_address_in_use(own, port)) move_to(&place, own);
    return original("connect")(socket, &place.any, size);
}
