import type { CmlNode } from '@lcm/cloud/cml-labs'
import { namesText } from '@lcm/domain/text/format-amounts'

const NODES_NAMED_MAX = 20

export const missingNodes = (nodes: readonly CmlNode[]): CmlNode[] => nodes.filter(({ state }) => state !== 'BOOTED')

/** Empty when there are none. */
export const namesOf = (nodes: readonly CmlNode[]): string =>
  namesText(
    nodes.map(({ label, state }) => `${label} (${state})`),
    NODES_NAMED_MAX,
  )
