/** What a node takes when its lab does not say: vCPUs and MiB of memory, and whether it runs anything at all. */
interface NodeNeeds {
  readonly cpus: number
  readonly ram_mib: number
  readonly counts: boolean
}

const runs = (cpus: number, ram_mib: number): NodeNeeds => ({ cpus, ram_mib, counts: true })
const NOTHING: NodeNeeds = { cpus: 0, ram_mib: 0, counts: false }

/** By node definition, as CML ships them. A live worker may differ; this is for planning. */
export const NODE_NEEDS: ReadonlyMap<string, NodeNeeds> = new Map([
  ['external_connector', NOTHING],
  ['unmanaged_switch', NOTHING],
  ['server', runs(1, 128)],
  ['alpine', runs(1, 512)],
  ['desktop', runs(1, 512)],
  ['trex', runs(1, 512)],
  ['wan_emulator', runs(1, 512)],
  ['ubuntu', runs(1, 2048)],
  ['coreos', runs(2, 2048)],
  ['iosv', runs(1, 512)],
  ['iosvl2', runs(1, 768)],
  ['asav', runs(1, 2048)],
  ['csr1000v', runs(1, 3072)],
  ['cat8000v', runs(1, 4096)],
  ['iosxrv', runs(1, 3072)],
  ['nxosv', runs(1, 3072)],
  ['nxosv9000', runs(2, 8192)],
  ['iosxrv9000', runs(4, 20_480)],
  ['frr', runs(1, 256)],
  ['iol-xe', runs(1, 768)],
  ['ioll2-xe', runs(1, 768)],
  ['cat9000v-uadp', runs(4, 18_432)],
  ['cat9000v-q200', runs(4, 12_288)],
  ['ftdv', runs(4, 8192)],
  ['fmcv', runs(4, 32_768)],
  ['cat-sdwan-manager', runs(8, 32_768)],
  ['cat-sdwan-controller', runs(2, 4096)],
  ['cat-sdwan-validator', runs(2, 4096)],
  ['cat-sdwan-edge', runs(2, 5120)],
  ['ise', runs(16, 16_384)],
  ['catalyst_center', runs(32, 262_144)],
])
