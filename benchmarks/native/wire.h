/* The frame format: length int32 | type 8 bits, header length 24 bits | JSON header | body. */
#ifndef ROUTEBOOK_WIRE_H
#define ROUTEBOOK_WIRE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t be32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void put_be32(unsigned char *at, uint32_t value) {
    at[0] = value >> 24, at[1] = value >> 16, at[2] = value >> 8, at[3] = value;
}

/* Return the number after a key of a JSON header, or `absent`. */
static inline long json_number(const char *header, size_t size, const char *key, long absent) {
    const size_t length = strlen(key);
    const char *found = memmem(header, size, key, length), *end = header + size;
    if (found == NULL) return absent;
    found += length;
    while (found < end && *found == ' ') found++;
    int negative = found < end && *found == '-';
    found += negative;
    long value = 0;
    while (found < end && *found >= '0' && *found <= '9') value = value * 10 + (*found++ - '0');
    return negative ? -value : value;
}

static inline void fail(const char *what) {
    perror(what);
    exit(1);
}

static inline void *grown(void *memory, size_t size) {
    void *more = realloc(memory, size);
    if (more == NULL) fail("memory");
    return more;
}

static inline unsigned char *whole_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail(path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = grown(NULL, *size + 1);
    if (fread(data, 1, *size, file) != *size) fail(path);
    fclose(file);
    return data;
}

#endif
