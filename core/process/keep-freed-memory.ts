/** glibc gives back free memory at the end of its heap once there is twice this much. */
const BLOCK_BYTES = 16_777_216;

/**
 * Lets the process keep up to 32 MB of freed memory for the next request bodies.
 *
 * glibc takes each block above 128 KB from the kernel and gives it back when it is freed. It raises that limit to the
 * largest block that was freed, up to 32 MB, and gives back the end of its heap at twice the limit: mallopt(3),
 * `M_MMAP_THRESHOLD`. Bodies of 512 KB raise it so little that each collection of garbage gives the memory of all bodies
 * back, and the next bodies pay a page fault for every 4 KB. A block that is never written to takes no memory itself.
 * The next collection frees it.
 */
export function keepFreedMemory(): void {
  Buffer.allocUnsafeSlow(BLOCK_BYTES);
}
