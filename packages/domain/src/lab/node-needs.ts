/** Default needs of a node: vCPUs, MiB of memory and boot time, and whether it runs anything at all. */
interface NodeNeeds {
  readonly cpus: number
  readonly ram_mib: number
  /** For how many seconds CML waits until it has booted. */
  readonly boot_s: number
  readonly counts: boolean
}

const runs = (cpus: number, ram_mib: number, boot_s: number): NodeNeeds => ({ cpus, ram_mib, boot_s, counts: true })
const NOTHING: NodeNeeds = { cpus: 0, ram_mib: 0, boot_s: 5, counts: false }

/** By node definition, as CML ships them. A live worker may differ; this is for planning. */
export const NODE_NEEDS: ReadonlyMap<string, NodeNeeds> = new Map([
  ['external_connector', NOTHING],
  ['unmanaged_switch', NOTHING],
  ['server', runs(1, 128, 20)],
  ['alpine', runs(1, 512, 60)],
  ['desktop', runs(1, 512, 60)],
  ['trex', runs(1, 512, 60)],
  ['wan_emulator', runs(1, 512, 60)],
  ['ubuntu', runs(1, 2048, 180)],
  ['coreos', runs(2, 2048, 60)],
  ['iosv', runs(1, 512, 180)],
  ['iosvl2', runs(1, 768, 300)],
  ['asav', runs(1, 2048, 120)],
  ['csr1000v', runs(1, 3072, 250)],
  ['cat8000v', runs(1, 4096, 250)],
  ['iosxrv', runs(1, 3072, 400)],
  ['nxosv', runs(1, 3072, 400)],
  ['nxosv9000', runs(2, 8192, 480)],
  ['iosxrv9000', runs(4, 20_480, 1000)],
  ['frr', runs(1, 256, 30)],
  ['iol-xe', runs(1, 768, 60)],
  ['ioll2-xe', runs(1, 768, 60)],
  ['cat9000v-uadp', runs(4, 18_432, 1200)],
  ['cat9000v-q200', runs(4, 12_288, 1200)],
  ['ftdv', runs(4, 8192, 300)],
  ['fmcv', runs(4, 32_768, 1800)],
  ['cat-sdwan-manager', runs(8, 32_768, 300)],
  ['cat-sdwan-controller', runs(2, 4096, 300)],
  ['cat-sdwan-validator', runs(2, 4096, 300)],
  ['cat-sdwan-edge', runs(2, 5120, 250)],
  ['ise', runs(16, 16_384, 3600)],
  ['catalyst_center', runs(32, 262_144, 86_400)],
])

/** Node definitions whose users work on a screen, in addition to the serial line. */
const GRAPHICAL: ReadonlySet<string> = new Set(['desktop'])

/** Switches and connectors run nothing, and have neither a console nor a configuration. */
export const runsNothing = (nodeDefinition: string): boolean => NODE_NEEDS.get(nodeDefinition)?.counts === false

/** How people reach a node. CML doesn't say so before a lab exists, so an unknown definition is expected to have a serial line. */
export function consolesOf(nodeDefinition: string): readonly ('serial' | 'vnc')[] {
  if (runsNothing(nodeDefinition)) return []
  return GRAPHICAL.has(nodeDefinition) ? ['serial', 'vnc'] : ['serial']
}

const UNKNOWN_BOOT_S = 300

/** How long the slowest of these nodes boots, for a lab whose topology is not at hand. */
export const definitionBootSeconds = (nodeDefinitions: readonly string[]): number =>
  nodeDefinitions.length === 0
    ? UNKNOWN_BOOT_S
    : Math.max(...nodeDefinitions.map(each => NODE_NEEDS.get(each)?.boot_s ?? UNKNOWN_BOOT_S))
