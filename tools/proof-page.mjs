// Renders the results of `npm run prove` as a page.
const line = values => `| ${values.join(' | ')} |`
const table = (head, rows) => [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
/** Date, commit and count of a proof, so that an old one is not mistaken for a current one. */
const madeOf = ({ at, commit, count, cores }) => `${at.slice(0, 10)} on ${commit}, count ${count}, ${cores} cores`

const times = ({ count, p50_ms, p99_ms, max_ms }) =>
  count === 0 ? '-' : `${count}: ${p50_ms} / ${p99_ms} / ${max_ms} ms`
const FAILOVER_HEAD = [
  ...['lease', 'kill -9', 'SIGTERM', 'freeze past the lease', 'terms', 'writes'],
  ...['stale writes accepted', 'machines astray', 'made'],
]
const failoverCells = proof => [
  ...[`${proof.lease_seconds} s`, times(proof.kill), times(proof.handover), times(proof.freeze), proof.terms],
  ...[proof.writes, proof.staleWritesAccepted, proof.machinesAstray, madeOf(proof)],
]

const RUNS_HEAD = [
  ...['what', 'runs', 'violations', 'virtual hours', 'worker-hours', 'worker-hours per s'],
  ...['launches', 'sessions', 'crashes', 'faults', 'longest time to settle, of the limit', 'fingerprint', 'made'],
]
const runsCells = (what, proof) => [
  ...[what, proof.runs, proof.failures, proof.virtual_hours, proof.worker_hours, proof.worker_hours_per_second],
  ...[
    proof.launches,
    proof.sessions,
    proof.kills,
    proof.faults,
    `${proof.longest_rest_minutes} min of ${proof.rest_minutes_max ?? 'twice 360'}`,
  ],
  ...[proof.fingerprint ?? 'not kept', madeOf(proof)],
]
const RUNS = {
  storms: 'half an hour with 3 workers, something every half minute',
  'six-hours': '6 hours with 10 workers, calm and storms',
  days: '24 hours with 50 workers, calm and storms',
  crowds: '2 hours with 200 workers',
}

/** One part of the page for each proof that was made. */
const PARTS = [
  [
    ['failover-2s', 'failover-15s'],
    'Leaders of real processes on a real etcd are killed; a user changes a desired status before each loss. Times are p50 / p99 / max, ' +
      "from the signal to the successor's accepted term.",
    proofs => table(FAILOVER_HEAD, Object.values(proofs).map(failoverCells)),
  ],
  [
    ['replicas'],
    'Two replicas of the API on one MongoDB-wire server and one etcd, killed alternately during writes:',
    ({ replicas }) => {
      const rows = replicas.figures.map(({ what, result }) => [what, result])
      return `${table(['what', 'result'], rows)}\n\nMade ${madeOf(replicas)}.`
    },
  ],
  [
    ['chaos'],
    'Faults around real processes, one after the other, while sessions come and go and a client writes:',
    ({ chaos }) => `${chaos.table}\n\nMade ${madeOf(chaos)}.`,
  ],
  [
    ['crashes'],
    'A controller dies before or after one port call of a path, for every call of every path, on virtual time:',
    ({ crashes }) => table(['runs', 'failures', 'made'], [[crashes.runs, crashes.failures, madeOf(crashes)]]),
  ],
  [
    Object.keys(RUNS),
    'The whole system on virtual time: random users, manual changes and faults, until everything has settled. Storms poll at the ' +
      'default intervals, whole days less often (simulation/virtual/world/controller-settings.ts). Seconds are CPU seconds of one ' +
      'core. The fingerprint covers all runs: the same code gives the same one.',
    proofs =>
      table(
        RUNS_HEAD,
        Object.entries(proofs).map(([name, proof]) => runsCells(RUNS[name], proof)),
      ),
  ],
  [
    ['mutants'],
    'Defects on purpose, each of which must be found within 60 s of one core:',
    ({ mutants }) => {
      const rows = mutants.hunts.map(({ mutant, breaks, seed, seconds, found }) => [
        mutant,
        breaks,
        seed,
        seconds,
        found,
      ])
      return `${table(['mutant', 'what it breaks', 'seed', 'seconds', 'found by'], rows)}\n\nMade ${madeOf(mutants)}.`
    },
  ],
  [
    ['saves'],
    'The API dies at random calls of its store while labs are saved, and saves are resumed, removed and sealed with other keys. A ' +
      'failure is a lost save, or one that can be read in part:',
    ({ saves }) =>
      table(['runs', 'crashes', 'failures', 'made'], [[saves.runs, saves.crashes, saves.failures, madeOf(saves)]]),
  ],
  [
    ['calm-days'],
    'Days of classes, labs, walk-ins, cancellations and extensions on a simulated cloud without faults, with fleets that are sometimes ' +
      'too small. Admitted sessions without capacity had no running lab at some moment of their timeslot:',
    ({ 'calm-days': calm }) => {
      const columns = ['days', 'seats', 'admitted', 'refused', 'without_capacity', 'flaps', 'failures']
      return table(
        [...columns.map(name => name.replace('_', ' ')), 'made'],
        [[...columns.map(name => calm[name]), madeOf(calm)]],
      )
    },
  ],
]

/** Proofs that did not run are named on the page. */
export function proofPage(proofs) {
  const parts = PARTS.flatMap(([names, words, show]) => {
    const made = Object.fromEntries(names.flatMap(name => (name in proofs ? [[name, proofs[name]]] : [])))
    return Object.keys(made).length > 0 ? [`${words}\n\n${show(made)}`] : []
  })
  const missing = PARTS.flatMap(([names]) => names).filter(name => !(name in proofs))
  const notMade = missing.length === 0 ? [] : [`Not made yet: ${missing.join(', ')}.`]
  const head = 'Made by `npm run prove`, each part on the day and the commit that it names.'
  return `${['# Proof', head, ...notMade, ...parts].join('\n\n')}\n`
}
