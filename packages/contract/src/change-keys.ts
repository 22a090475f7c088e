/** Where the API announces changes, one key per resource. Controllers watch below these prefixes. */
export const CHANGE_KEYS = { workers: '/lcm/workers/' } as const
