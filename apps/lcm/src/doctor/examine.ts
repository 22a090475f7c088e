import { dirname } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { readList } from '@lcm/client/lists'
import manifest from '../../package.json' with { type: 'json' }
import { dataDirOf, findTarget } from '../cli/connection.ts'
import { CliError } from '../cli/exit-code.ts'
import { failureOf } from '../cli/failure.ts'
import type { GlobalOptions } from '../cli/global-options.ts'
import type { Examination, Shell } from '../cli/shell.ts'
import { formatDuration } from '../cli/terminal/duration.ts'
import { readLivingAndLost } from '../cli/worker/lost-workers.ts'
import type { ExaminedEnvironment, ExaminedLaunch } from '../serve/examination.ts'
import { type ApiFacts, judgeApi, judgeClock, judgeHealth, judgeToken } from './api.ts'
import { judgeAws } from './aws.ts'
import { judgeCml } from './cml.ts'
import { type Finding, failure, failureIn, ok } from './finding.ts'
import { judgeFleet, readFleet } from './fleet.ts'
import { judgeDisk, judgeFolder, judgeNode } from './machine.ts'
import { probeApi } from './probe-api.ts'
import { probeFolder } from './probe-machine.ts'
import { judgeEtcd, judgeStore, unknownEtcd } from './servers.ts'
import { judgeServices } from './services.ts'
import { inTime } from './time-limit.ts'

/** What every check works with. */
interface Ward {
  readonly shell: Shell
  readonly globals: GlobalOptions
  readonly dataDir: string
  /** How long any check may take. */
  readonly patienceMs: number
  readonly examination: Examination
  /** Null where services could not read it. */
  readonly env: ExaminedEnvironment | null
}

/** Looks at everything that LCM needs, and changes nothing. Each check ends within its time, whatever it meets. */
export async function examine(globals: GlobalOptions, shell: Shell, patienceMs: number): Promise<Finding[]> {
  const examination = await shell.loadExamination()
  const env = examination.readEnvironment(shell.env)
  const dataDir = dataDirOf(globals, shell.env)
  const isReadable = typeof env !== 'string'
  const ward: Ward = { shell, globals, dataDir, patienceMs, examination, env: isReadable ? env : null }
  const [machine, reached] = await Promise.all([examineMachine(ward), reachApi(ward)])
  const beyond = await Promise.all([
    examineFleet(ward, reached),
    examineStore(ward),
    examineEtcd(ward, reached),
    examineAws(ward, reached),
  ])
  const environment = isReadable
    ? []
    : [failure('environment', env, 'services would refuse to start with it: correct it')]
  const others = beyond.flat()
  // A process with controllers inside has their problems too, and each is shown once.
  const isToldBy = (problem: string) => others.some(({ sentence }) => sentence.includes(problem))
  const health = judgeHealth(reached.facts).filter(({ sentence }) => !isToldBy(sentence))
  return [...machine, ...environment, ...reached.findings, ...health, ...others]
}

async function examineMachine({ shell, globals, dataDir, examination, env }: Ward): Promise<Finding[]> {
  const folder = await probeFolder(dataDir)
  const file = env === null ? null : examination.fileOfStore(env)
  const isNamed = Boolean(globals.url || shell.env.LCM_URL)
  const isServed = env?.LCM_STORE !== undefined
  const places = [
    ...(folder.exists || (!isNamed && !isServed) ? [dataDir] : []),
    ...(file === null ? [] : [dirname(file)]),
  ]
  const disks = await Promise.all(places.map(place => shell.probeDisk(place)))
  const inside = folder.exists && folder.problem === null ? examination.examineFolder(dataDir) : null
  return [
    judgeNode(process.version),
    judgeFolder({ ...folder, isLocked: inside?.isLocked ?? null }, !isNamed && !isServed),
    ...disks.flatMap(disk => (disk === null ? [] : [judgeDisk(disk)])),
    ...(inside?.store == null ? [] : [judgeStore(inside.store)]),
  ]
}

interface Reached {
  readonly findings: readonly Finding[]
  /** Null where nobody lets us in. */
  readonly client: Client | null
  readonly facts: ApiFacts | null
}

async function reachApi({ shell, globals, patienceMs }: Ward): Promise<Reached> {
  const nobody = (finding: Finding): Reached => ({ findings: [finding], client: null, facts: null })
  const target = await findTarget(globals, shell.env).catch((error: unknown) => {
    if (error instanceof CliError) return error
    throw error
  })
  if (target instanceof CliError) return nobody(failureIn('api', target.message, 'name one with --url'))
  const dispatch = await shell.transport(target.url)
  const { clock, signal } = shell
  const facts = await inTime(clock, signal, until => probeApi({ target, dispatch, clock, signal: until }), patienceMs)
  if (facts === null) return nobody(failure('api', `LCM does not answer at ${target.url} in time`, target.nextStep))
  const token = judgeToken(facts)
  const findings = [
    ...judgeApi(facts, manifest.version),
    ...(token === null ? [] : [token]),
    ...(facts.skew === null ? [] : [judgeClock('the API', facts.skew)]),
  ]
  const isKnown = facts.answer.kind === 'known' && target.token !== null
  return { findings, facts, client: isKnown ? apiClient(dispatch, { token: target.token ?? '' }) : null }
}

/** A check that asks others: what goes wrong in it is a finding too. */
async function check(
  { shell: { clock, signal }, patienceMs }: Ward,
  name: string,
  run: (signal: AbortSignal) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    const found = await inTime(clock, signal, run, patienceMs)
    return (
      found ?? [
        failure(
          name,
          `there was no answer within ${formatDuration(patienceMs)}`,
          'look at it by hand: it hangs; --timeout gives it longer',
        ),
      ]
    )
  } catch (error) {
    signal.throwIfAborted()
    const { sentence } = failureOf(error)
    return [
      failureIn(
        name,
        error instanceof Error && error.name === 'StartupError' ? error.message : sentence,
        'look at it by hand',
      ),
    ]
  }
}

async function examineFleet(ward: Ward, { client, facts }: Reached): Promise<readonly Finding[]> {
  if (client === null || facts?.answer.kind !== 'known') return []
  const { profile } = facts.answer.info
  const nowMs = ward.shell.clock.now() + (facts.skew?.ms ?? 0)
  const [services, workers, fleet] = await Promise.all([
    check(ward, 'services', async signal =>
      judgeServices((await client.call('listServices', { signal })).items, nowMs, profile),
    ),
    check(ward, 'cml', async signal => {
      const { items } = await readList(query => client.call('listWorkers', { query, signal }))
      return judgeCml(items)
    }),
    check(ward, 'fleet', async signal => {
      const { items } = await readLivingAndLost(client, signal)
      return judgeFleet(await readFleet(client, items, signal))
    }),
  ])
  return [...services, ...workers, ...fleet]
}

function patienceOf({ shell: { clock }, patienceMs }: Ward, signal: AbortSignal) {
  return { clock, signal, deadlineMs: 0.8 * patienceMs }
}

async function examineStore(ward: Ward): Promise<readonly Finding[]> {
  const { env, examination } = ward
  if (env?.LCM_STORE === undefined) return []
  return check(ward, 'store', async signal => {
    const facts = await examination.examineStore(env, patienceOf(ward, signal))
    return facts === null ? [] : [judgeStore(facts)]
  })
}

const isSet = (env: Shell['env'], prefix: string): boolean =>
  Object.entries(env).some(([name, value]) => name.startsWith(prefix) && Boolean(value))

async function examineEtcd(ward: Ward, { facts }: Reached): Promise<readonly Finding[]> {
  const { env, shell, examination } = ward
  const isCluster = facts?.answer.kind === 'known' && facts.answer.info.profile === 'cluster'
  if (!isSet(shell.env, 'ETCD_')) return isCluster ? [unknownEtcd()] : []
  if (env === null) return []
  return check(ward, 'etcd', async signal => {
    const members = await examination.examineCoordination(env, patienceOf(ward, signal))
    return judgeEtcd(members, shell.clock.now())
  })
}

/** AWS is needed where anybody says so: the API, the environment, or the folder. */
async function examineAws(ward: Ward, { client, facts }: Reached): Promise<readonly Finding[]> {
  const { env, examination, dataDir } = ward
  const info = facts?.answer.kind === 'known' ? facts.answer.info : null
  const folder = examination.examineFolder(dataDir)
  const said = env?.LCM_CLOUD ?? info?.cloud ?? folder.cloud
  if (env === null || (said !== 'aws' && env.AWS_REGIONS_CONFIG_PATH === undefined)) {
    return info?.cloud === 'sim' ? [ok('aws', 'the cloud is simulated: no AWS account is needed')] : []
  }
  const launch =
    client === null
      ? null
      : await inTime(ward.shell.clock, ward.shell.signal, signal => launchOf(client, signal), ward.patienceMs)
  const { clock, signal: outer } = ward.shell
  const ending = new AbortController()
  const end = () => ending.abort()
  outer.addEventListener('abort', end)
  // A little before the check itself is given up, so that what was found by then is told.
  const cancel = clock.after(0.9 * ward.patienceMs, end)
  try {
    return await check(ward, 'aws', async () => {
      const patience = patienceOf(ward, ending.signal)
      const account = await examination.examineAws(
        env,
        { regions: info?.regions ?? [], launch, fleet: folder.fleet },
        patience,
      )
      return judgeAws(account, clock.now())
    })
  } finally {
    cancel()
    outer.removeEventListener('abort', end)
  }
}

/** A template that is in use decides what a launch needs; one with a role needs most. */
async function launchOf(client: Client, signal: AbortSignal): Promise<ExaminedLaunch | null> {
  const { items } = await client.call('listTemplates', { query: { limit: 100 }, signal }).catch(() => ({ items: [] }))
  const enabled = items.filter(template => template.enabled)
  const template = enabled.find(each => each.iam_instance_profile !== null) ?? enabled[0]
  if (template === undefined) return null
  const { ami_name_pattern: name_pattern, ami_owner: owner, instance_types, iam_instance_profile } = template
  return { image: { name_pattern, owner }, instance_type: instance_types[0] ?? '', iam_instance_profile }
}
