const part = Number(process.env['ERRAND_FAULTS'] ?? 1)

/** How often something is done: all of it, or the part of it that ERRAND_FAULTS says (0.1 is a tenth). */
export const times = (count: number): number => Math.max(1, Math.ceil(count * part))
