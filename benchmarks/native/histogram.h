/* Latency histogram: buckets are at most 1/64 of their values wide, so percentiles are accurate within 1 %. */
#ifndef ROUTEBOOK_HISTOGRAM_H
#define ROUTEBOOK_HISTOGRAM_H

#include <stdint.h>

#define SUB_BITS 6
#define SUBS (1 << SUB_BITS)
#define BUCKETS ((64 - SUB_BITS) * SUBS)

struct histogram {
    uint64_t counts[BUCKETS];
    uint64_t total, sum, greatest;
};

static inline void histogram_add(struct histogram *histogram, uint64_t value) {
    int shift = value < SUBS ? 0 : 63 - __builtin_clzll(value) - SUB_BITS;
    uint64_t bucket = value < SUBS ? value : (uint64_t)(shift + 1) * SUBS + ((value >> shift) - SUBS);
    histogram->counts[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    histogram->total++;
    histogram->sum += value;
    if (value > histogram->greatest) histogram->greatest = value;
}

/* Return the upper bound of the bucket that contains the given quantile. */
static inline uint64_t histogram_at(const struct histogram *histogram, double share) {
    uint64_t rank = (uint64_t)(share * (double)histogram->total);
    if ((double)rank < share * (double)histogram->total || rank == 0) rank++;
    for (uint64_t bucket = 0, seen = 0; bucket < BUCKETS; bucket++) {
        seen += histogram->counts[bucket];
        if (seen >= rank) {
            if (bucket < SUBS) return bucket;
            int shift = (int)(bucket / SUBS) - 1;
            uint64_t value = ((SUBS + bucket % SUBS + 1) << shift) - 1;
            return value < histogram->greatest ? value : histogram->greatest;
        }
    }
    return histogram->greatest;
}

#endif
