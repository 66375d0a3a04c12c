/*
 * What the programs that run on devices share: text, files, numbers from the command line. They have
 * no libc, and the operating system is behind ago_sys.h.
 *
 * Exit codes: 0 done, 1 a file or memory problem, 2 wrong usage; others are the program's own.
 */
#ifndef AGO_PROGRAM_H
#define AGO_PROGRAM_H

#include "ago_runtime.h"
#include "ago_sys.h"

enum { EXIT_IO = 1, EXIT_USAGE = 2 };

/* Text that is put together, then written at once; what does not fit is cut off. */
typedef struct {
    char text[1024];
    size_t length;
} line;

AGO_INLINE void add_text(line *to, const char *text) {
    while (*text != '\0' && to->length < sizeof to->text) {
        to->text[to->length++] = *text++;
    }
}

/* Adds `value` in decimal, with at least `width` digits. */
AGO_INLINE void add_number(line *to, uint64_t value, int width) {
    char digits[24];
    size_t first = sizeof digits - 1;
    digits[first] = '\0';
    while (value > 0 || width > 0) {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
        --width;
    }
    add_text(to, digits + first);
}

/* Writes all of a buffer; 0 on success. */
AGO_INLINE int write_all(int file, const void *source, size_t bytes) {
    const char *from = source;
    while (bytes > 0) {
        const ptrdiff_t done = ago_sys_write(file, from, bytes);
        if (done <= 0) {
            return -1;
        }
        from += done;
        bytes -= (size_t)done;
    }
    return 0;
}

__attribute__((noreturn)) AGO_INLINE void fail(int code, const char *message, const char *detail) {
    line out = {.length = 0};
    add_text(&out, "error: ");
    add_text(&out, message);
    add_text(&out, detail);
    add_text(&out, "\n");
    write_all(AGO_SYS_STDERR, out.text, out.length);
    ago_sys_exit(code);
}

AGO_INLINE void *allocate(size_t bytes) {
    void *memory = ago_sys_allocate(bytes);
    if (memory == NULL) {
        fail(EXIT_IO, "out of memory", "");
    }
    return memory;
}

/* Reads a file that must hold exactly `bytes` bytes. */
AGO_INLINE void read_file(const char *path, void *destination, size_t bytes) {
    const int file = ago_sys_open(path, 0);
    if (file < 0) {
        fail(EXIT_IO, "cannot open ", path);
    }
    char *to = destination;
    size_t missing = bytes;
    while (missing > 0) {
        const ptrdiff_t done = ago_sys_read(file, to, missing);
        if (done <= 0) {
            fail(EXIT_IO, "file too short: ", path);
        }
        to += done;
        missing -= (size_t)done;
    }
    char beyond;
    if (ago_sys_read(file, &beyond, 1) != 0) {
        fail(EXIT_IO, "file too long: ", path);
    }
    ago_sys_close(file);
}

AGO_INLINE void write_file(const char *path, const void *source, size_t bytes) {
    const int file = ago_sys_open(path, 1);
    if (file < 0 || write_all(file, source, bytes) != 0 || ago_sys_close(file) != 0) {
        fail(EXIT_IO, "cannot write ", path);
    }
}

AGO_INLINE int is_equal(const char *left, const char *right) {
    while (*left != '\0' && *left == *right) {
        ++left;
        ++right;
    }
    return *left == *right;
}

/* A decimal count between two bounds. */
AGO_INLINE size_t parse_count(const char *text, size_t minimum, size_t maximum) {
    size_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value <= maximum; ++at) {
        value = 10 * value + (size_t)(*at - '0');
    }
    if (at == text || *at != '\0' || value < minimum || value > maximum) {
        fail(EXIT_USAGE, "not a usable count: ", text);
    }
    return value;
}

#endif /* AGO_PROGRAM_H */
