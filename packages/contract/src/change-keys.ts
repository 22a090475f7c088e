import { RESOURCE_KINDS, RESOURCE_NAMES, type ResourceName } from './resource-kinds.ts'

/** Prefixes of the change keys, one key per resource. Controllers watch below these prefixes. */
export const CHANGE_KEYS = Object.fromEntries(RESOURCE_NAMES.map(name => [name, RESOURCE_KINDS[name].keyPrefix])) as {
  readonly [N in ResourceName]: (typeof RESOURCE_KINDS)[N]['keyPrefix']
}

/** Common prefix of all change keys. */
export const CHANGE_KEY_ROOT = '/lcm/'
