/* Starts the interpreter beside it, in any image: linked statically, it needs neither a shell nor a C library there.
 * The loader and libraries are the bundle's own. The interpreter is told this program's name as its own, so that what
 * it starts as "myself" comes through here again. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char self[PATH_MAX], folder[PATH_MAX], loader[PATH_MAX + 32], python[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 8);
    if (length < 0) {
        perror("python: /proc/self/exe");
        return 127;
    }
    snprintf(folder, sizeof folder, "%.*s/lib", (int)(strrchr(self, '/') - self), self);
    snprintf(loader, sizeof loader, "%s/" LOADER, folder);
    snprintf(python, sizeof python, "%s/interpreter", folder);

    char **command = malloc((argc + 7) * sizeof *command), **next = command;
    if (command == NULL) {
        perror("python");
        return 127;
    }
    *next++ = loader;
    *next++ = "--argv0";
    *next++ = self;
    *next++ = "--library-path";
    *next++ = folder;
    *next++ = python;
    for (int at = 1; at <= argc; at++)  /* with the NULL at the end */
        *next++ = argv[at];
    execv(loader, command);
    perror(loader);
    return 127;
}
