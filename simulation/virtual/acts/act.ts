/** Requests of operators, with the weight of each. */
export const FLEET_ACTS = {
  create: 6,
  'create with a license': 3,
  start: 6,
  stop: 5,
  terminate: 3,
  drain: 3,
  'cancel a drain': 2,
  'register a license': 2,
  'deregister a license': 2,
  retry: 2,
  refresh: 2,
  repin: 1,
  cordon: 1,
  hold: 1,
  'edit a template': 1,
  'edit a definition': 1,
  'change settings': 2,
  'switch saves on or off': 1,
  'change save settings': 1,
  'move a session': 1,
  // Weight 0: only in stories.
  rename: 0,
  'rotate the secret key': 0,
  approve: 0,
  'limit bookings': 0,
  'limit spending': 0,
  'change a license pool': 0,
  'create from a license pool': 0,
} as const

/** Acts of learners on the API and on CML servers. */
export const LEARNER_ACTS = {
  book: 14,
  'book ahead': 4,
  'book a class': 3,
  'book best effort': 2,
  cancel: 4,
  'cancel a class': 1,
  extend: 3,
  'requeue a session': 1,
  'retry a session': 1,
  'use a server': 5,
  'act on a foreign session': 2,
  'resume a save': 1,
  'save a session': 2,
  'change a configuration': 3,
  'start a node by hand': 1,
  'stop a node by hand': 1,
  'start a lab by hand': 1,
  'stop a lab by hand': 1,
  'end a node from inside': 1,
  // Weight 0: only in stories.
  'book many at once': 0,
} as const

/** What people and attackers do to get access, and operators to end it. Weight 0: only in stories. */
export const ACCESS_ACTS = {
  'add a person': 0,
  'give a token': 0,
  'sign in': 0,
  'make a login link': 0,
  'sign out': 0,
  'use all access': 0,
  'book as a person': 0,
  'send wrong tokens': 0,
  'replace a token': 0,
  'revoke a person': 0,
  'change a role': 0,
  'remove a person': 0,
  'merge people': 0,
} as const

/** Manual changes in EC2 and CML, unknown to LCM. */
export const MANUAL_ACTS = {
  'stop a machine': 3,
  'start a machine': 3,
  'terminate a machine': 2,
  'untag a machine': 1,
  'protect a machine': 1,
  'replace a certificate': 1,
  'disconnect the Smart Account': 2,
  'break a server': 2,
  'remove labs': 2,
  'launch a foreign machine': 1,
  'launch a machine to discover': 1,
  'retire a machine': 1,
  'exhaust a zone': 1,
  'exhaust all zones': 1,
  'silence a CML server': 2,
  'reboot a machine from inside': 2,
  'reboot a machine': 1,
  'fail the lab API': 1,
  'list no labs': 1,
  'keep rebooting a machine': 1,
  // Weight 0: only in stories.
  'change a CML password': 0,
  'name a machine': 0,
  'tag a machine with a foreign endpoint': 0,
  'launch a hostile machine': 0,
  'use the next launch tokens': 0,
} as const

/** Faults of LCM processes and of the connections between them. */
export const FAULT_ACTS = {
  'kill a process': 4,
  'kill a process at a call': 6,
  'freeze a process': 2,
  'freeze a process at a call': 3,
  'lose a lease': 3,
  'lead as a zombie': 2,
  'jump a clock': 2,
  'break the streams': 2,
  'compact old changes': 1,
  'hold the streams': 1,
  'drop and duplicate events': 2,
  'delay events': 1,
  'disconnect CML': 2,
  'lose CML responses': 4,
  'lose requests': 3,
  'kill the API': 2,
  'kill the API at a call': 4,
  'lose writes': 2,
  'use hostile cloud faults': 4,
  'write concurrently': 1,
  // Weight 0, only in stories: another weight would change the plan of every seed.
  'show no machines': 0,
  'disconnect EC2': 0,
  'lose the next launch': 0,
  'deny changes of machines': 0,
} as const

export const ACTS = { ...FLEET_ACTS, ...LEARNER_ACTS, ...ACCESS_ACTS, ...MANUAL_ACTS, ...FAULT_ACTS } as const
export type ActName = keyof typeof ACTS

/**
 * One act as data: the same act in the same state has the same effect, and a list of acts can be shortened, stored and replayed.
 * `target` and `amount` are shares of 0 to 1; `target` picks among the candidates that exist when the act happens.
 */
export interface Act {
  readonly atMs: number
  readonly act: ActName
  readonly target: number
  readonly amount: number
  /** Duration of a lasting act. */
  readonly forMs: number
}

export const isFault = (name: ActName): boolean => name in FAULT_ACTS
