export type NodeDriver = 'kvm' | 'docker' | 'iol' | 'none'

/** The used parts of a node definition. */
export interface NodeDefinition {
  readonly id: string
  readonly label: string
  readonly nature: 'router' | 'switch' | 'server' | 'host' | 'firewall' | 'external_connector'
  readonly cpus: number
  readonly ram_mib: number
  readonly boot_timeout_s: number
  readonly driver: NodeDriver
  /** Prefix of interface names, followed by the slot. */
  readonly port: string
  readonly vnc: boolean
  /** Whether CML can read its configuration from the console. */
  readonly extracts: boolean
}

type Row = readonly [
  id: string,
  nature: NodeDefinition['nature'],
  cpus: number,
  ram_mib: number,
  boot_timeout_s: number,
  driver?: NodeDriver,
]

const ROWS: readonly Row[] = [
  ['external_connector', 'external_connector', 0, 0, 5, 'none'],
  ['unmanaged_switch', 'switch', 0, 0, 5, 'none'],
  ['server', 'server', 1, 128, 20],
  ['alpine', 'server', 1, 512, 60],
  ['desktop', 'host', 1, 512, 60],
  ['trex', 'server', 1, 512, 60],
  ['wan_emulator', 'server', 1, 512, 60],
  ['ubuntu', 'server', 1, 2048, 180],
  ['coreos', 'server', 2, 2048, 60],
  ['iosv', 'router', 1, 512, 180],
  ['iosvl2', 'switch', 1, 768, 300],
  ['asav', 'firewall', 1, 2048, 120],
  ['csr1000v', 'router', 1, 3072, 250],
  ['cat8000v', 'router', 1, 4096, 250],
  ['iosxrv', 'router', 1, 3072, 400],
  ['nxosv', 'switch', 1, 3072, 400],
  ['nxosv9000', 'switch', 2, 8192, 480],
  ['iosxrv9000', 'router', 4, 20480, 1000],
  ['frr', 'router', 1, 256, 30, 'docker'],
  ['iol-xe', 'router', 1, 768, 30, 'iol'],
  ['ioll2-xe', 'switch', 1, 768, 30, 'iol'],
  ['cat9000v-uadp', 'switch', 4, 18432, 900],
  ['cat9000v-q200', 'switch', 4, 12288, 900],
  ['ftdv', 'firewall', 4, 8192, 300],
  ['fmcv', 'server', 4, 32768, 1800],
  ['cat-sdwan-manager', 'server', 8, 32768, 300],
  ['cat-sdwan-controller', 'server', 2, 4096, 300],
  ['cat-sdwan-validator', 'server', 2, 4096, 300],
  ['cat-sdwan-edge', 'router', 2, 5120, 250],
  ['ise', 'server', 16, 16384, 3600],
  ['catalyst_center', 'server', 32, 262144, 86400],
]

const IN_A_TERMINAL_TOO: readonly string[] = ['desktop', 'ubuntu', 'asav', 'ftdv', 'fmcv', 'ise']

const WITHOUT_EXTRACTION: readonly string[] = [
  'desktop',
  'trex',
  'wan_emulator',
  'ubuntu',
  'coreos',
  'fmcv',
  'ise',
  'catalyst_center',
]

const definitionOf = ([id, nature, cpus, ram_mib, boot_timeout_s, driver = 'kvm']: Row): NodeDefinition => ({
  id,
  label: id,
  nature,
  cpus,
  ram_mib,
  boot_timeout_s,
  driver,
  port: nature === 'router' ? 'GigabitEthernet0/' : nature === 'server' || nature === 'host' ? 'eth' : 'port',
  vnc: IN_A_TERMINAL_TOO.includes(id),
  extracts: driver !== 'none' && !WITHOUT_EXTRACTION.includes(id),
})

/** Defaults read from live servers, sorted by id. */
export const NODE_DEFINITIONS: readonly NodeDefinition[] = ROWS.map(definitionOf).sort((a, b) => (a.id < b.id ? -1 : 1))

const BY_ID: ReadonlyMap<string, NodeDefinition> = new Map(NODE_DEFINITIONS.map(each => [each.id, each]))

export const nodeDefinition = (id: string): NodeDefinition | undefined => BY_ID.get(id)

export const imageOf = (definition: NodeDefinition): string => `${definition.id}-1-0`

/** Every definition that runs a virtual machine has one image. */
export const hasImage = (definition: NodeDefinition): boolean => definition.driver !== 'none'

/** External connectors and unmanaged switches run no virtual machine and need no license. */
export const needsLicense = (definitionId: string): boolean => nodeDefinition(definitionId)?.driver !== 'none'
