import { dirname } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { sameReason } from '@lcm/domain/reason'
import manifest from '../../package.json' with { type: 'json' }
import { CliError } from '../cli/cli-error.ts'
import type { Examination, Shell } from '../cli/command-dependencies.ts'
import { dataDirOf, findTarget } from '../cli/connection.ts'
import { failureOf } from '../cli/failure-message.ts'
import type { GlobalOptions } from '../cli/global-options.ts'
import { formatDuration } from '../cli/terminal/duration.ts'
import { readLivingAndLost } from '../cli/worker/lost-workers.ts'
import type { CheckedLaunch, ExaminedEnvironment } from '../serve/doctor-probes.ts'
import { ASK_MS_MAX, askCml } from './ask-cml.ts'
import { type Finding, failure, ok } from './finding.ts'
import { type ApiFacts, judgeApi, judgeClock, judgeHealth, judgeToken } from './judge-api.ts'
import { judgeAws } from './judge-aws.ts'
import { judgeCml } from './judge-cml.ts'
import { judgeDisk, judgeFolder, judgeNode } from './judge-computer.ts'
import { judgeFleet, readFleet } from './judge-fleet.ts'
import { isAboutOneOf, judgeServices, readServices } from './judge-services.ts'
import { judgeEtcd, judgeStore, unknownEtcd } from './judge-store-and-etcd.ts'
import { judgeTemplates, readTemplates } from './judge-templates.ts'
import { probeApi } from './probe-api.ts'
import { probeFolder } from './probe-computer.ts'
import { withTimeout } from './timeout.ts'

/** Inputs of all checks. */
interface CheckContext {
  readonly shell: Shell
  readonly globals: GlobalOptions
  readonly dataDir: string
  /** Timeout for each check. */
  readonly timeoutMs: number
  readonly examination: Examination
  /** Null if it is invalid. */
  readonly env: ExaminedEnvironment | null
}

/** Checks everything that LCM needs without changing anything. Each check ends within its timeout. */
export async function examine(globals: GlobalOptions, shell: Shell, timeoutMs: number): Promise<Finding[]> {
  const examination = await shell.loadExamination()
  const env = examination.readEnvironment(shell.env)
  const dataDir = dataDirOf(globals, shell.env)
  const [valid, refusal] = env instanceof examination.StartupError ? [null, env] : [env, null]
  const context: CheckContext = { shell, globals, dataDir, timeoutMs, examination, env: valid }
  const [machine, reached] = await Promise.all([examineMachine(context), reachApi(context)])
  const beyond = await Promise.all([
    examineFleet(context, reached),
    examineStore(context),
    examineEtcd(context, reached),
    examineAws(context, reached),
  ])
  const environment =
    refusal === null
      ? []
      : [failure('environment', refusal.message, refusal.advice ?? 'services would refuse to start')]
  const others = beyond.flat()
  // The embedded profile also reports the problems of its controllers; each is shown once.
  const reported = others.flatMap(({ reason }) => reason ?? [])
  const health = judgeHealth(reached.facts).filter(
    ({ reason = null }) => !reported.some(each => sameReason(each, reason)) && !isAboutOneOf(reason, others),
  )
  return [...machine, ...environment, ...reached.findings, ...health, ...others]
}

async function examineMachine({ shell, globals, dataDir, examination, env }: CheckContext): Promise<Finding[]> {
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
  /** Null if the API is unreachable or denies access. */
  readonly client: Client | null
  readonly facts: ApiFacts | null
}

async function reachApi({ shell, globals, timeoutMs }: CheckContext): Promise<Reached> {
  const unreachable = (finding: Finding): Reached => ({ findings: [finding], client: null, facts: null })
  const target = await findTarget(globals, shell.env).catch((error: unknown) => {
    if (error instanceof CliError) return error
    throw error
  })
  if (target instanceof CliError) return unreachable(failure('api', target.message, target.advice ?? 'set --url'))
  const dispatch = await shell.transport(target.url)
  const { clock, signal } = shell
  const facts = await withTimeout(
    clock,
    signal,
    until => probeApi({ target, dispatch, clock, signal: until }),
    timeoutMs,
  )
  if (facts === null) return unreachable(failure('api', `LCM does not respond at ${target.url} in time`, target.advice))
  const token = judgeToken(facts)
  const findings = [
    ...judgeApi(facts, manifest.version),
    ...(token === null ? [] : [token]),
    ...(facts.skew === null ? [] : [judgeClock('the API', facts.skew)]),
  ]
  const isKnown = facts.answer.kind === 'known' && target.token !== null
  return { findings, facts, client: isKnown ? apiClient(dispatch, { token: target.token ?? '' }) : null }
}

/** Runs a check; errors and timeouts become findings. */
async function check(
  { shell: { clock, signal }, timeoutMs, examination }: CheckContext,
  name: string,
  run: (signal: AbortSignal) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    const found = await withTimeout(clock, signal, run, timeoutMs)
    return (
      found ?? [
        failure(
          name,
          `no response within ${formatDuration(timeoutMs)}`,
          'check it manually, or allow more time with --timeout',
        ),
      ]
    )
  } catch (error) {
    signal.throwIfAborted()
    const { message, advice } = error instanceof examination.StartupError ? error : failureOf(error)
    return [failure(name, message, advice ?? 'check it manually')]
  }
}

async function examineFleet(context: CheckContext, { client, facts }: Reached): Promise<readonly Finding[]> {
  if (client === null || facts?.answer.kind !== 'known') return []
  const { profile } = facts.answer.info
  const nowMs = context.shell.clock.now() + (facts.skew?.ms ?? 0)
  // CML is asked by the worker-controller, which has a time limit of its own.
  const asking = { ...context, timeoutMs: context.timeoutMs + ASK_MS_MAX }
  const cml = check(asking, 'cml', async signal => {
    const { workers, ...answers } = await askCml(client, context.shell.clock, signal)
    return judgeCml(workers, answers)
  })
  const [services, workers, fleet, templates] = await Promise.all([
    check(asking, 'services', async signal => {
      const services = await readServices(client, context.shell.clock, signal)
      return judgeServices(services, { nowMs, profile, workers: await cml })
    }),
    cml,
    check(context, 'fleet', async signal => {
      const { items } = await readLivingAndLost(client, signal)
      return judgeFleet(await readFleet(client, items, signal))
    }),
    check(context, 'templates', async signal => judgeTemplates(await readTemplates(client, signal), nowMs)),
  ])
  return [...services, ...workers, ...fleet, ...templates]
}

function limitsOf({ shell: { clock }, timeoutMs }: CheckContext, signal: AbortSignal) {
  return { clock, signal, deadlineMs: 0.8 * timeoutMs }
}

async function examineStore(context: CheckContext): Promise<readonly Finding[]> {
  const { env, examination } = context
  if (env?.LCM_STORE === undefined) return []
  return check(context, 'store', async signal => {
    const facts = await examination.examineStore(env, limitsOf(context, signal))
    return facts === null ? [] : [judgeStore(facts)]
  })
}

const isSet = (env: Shell['env'], prefix: string): boolean =>
  Object.entries(env).some(([name, value]) => name.startsWith(prefix) && Boolean(value))

async function examineEtcd(context: CheckContext, { facts }: Reached): Promise<readonly Finding[]> {
  const { env, shell, examination } = context
  const isCluster = facts?.answer.kind === 'known' && facts.answer.info.profile === 'cluster'
  if (!isSet(shell.env, 'ETCD_')) return isCluster ? [unknownEtcd()] : []
  if (env === null) return []
  return check(context, 'etcd', async signal => {
    const members = await examination.examineCoordination(env, limitsOf(context, signal))
    return judgeEtcd(members, shell.clock.now())
  })
}

/** Checks AWS if the environment, the API or the data folder says that it is used. */
async function examineAws(context: CheckContext, { client, facts }: Reached): Promise<readonly Finding[]> {
  const { env, examination, dataDir } = context
  const info = facts?.answer.kind === 'known' ? facts.answer.info : null
  const folder = examination.examineFolder(dataDir)
  const cloud = env?.LCM_CLOUD ?? info?.cloud ?? folder.cloud
  if (env === null || (cloud !== 'aws' && env.AWS_REGIONS_CONFIG_PATH === undefined)) {
    return info?.cloud === 'sim' ? [ok('aws', 'the cloud is simulated, no AWS account is needed')] : []
  }
  const launch =
    client === null
      ? null
      : await withTimeout(
          context.shell.clock,
          context.shell.signal,
          signal => launchOf(client, signal),
          context.timeoutMs,
        )
  const { clock, signal: outer } = context.shell
  const ending = new AbortController()
  const end = () => ending.abort()
  outer.addEventListener('abort', end)
  // Ends shortly before the check times out, so that partial results are reported.
  const cancel = clock.after(0.9 * context.timeoutMs, end)
  try {
    return await check(context, 'aws', async () => {
      const limits = limitsOf(context, ending.signal)
      const account = await examination.examineAws(
        env,
        { regions: info?.regions ?? [], launch, fleet: folder.fleet },
        limits,
      )
      return judgeAws(account, clock.now())
    })
  } finally {
    cancel()
    outer.removeEventListener('abort', end)
  }
}

/** The launch parameters to test: an enabled template, preferably one with an instance profile, which needs most permissions. */
async function launchOf(client: Client, signal: AbortSignal): Promise<CheckedLaunch | null> {
  const { items } = await client.call('listTemplates', { query: { limit: 100 }, signal }).catch(() => ({ items: [] }))
  const enabled = items.filter(template => template.enabled)
  const template = enabled.find(each => each.iam_instance_profile !== null) ?? enabled[0]
  if (template === undefined) return null
  const { ami_name_pattern: name_pattern, ami_owner: owner, instance_types, iam_instance_profile } = template
  return { image: { name_pattern, owner }, instance_type: instance_types[0] ?? '', iam_instance_profile }
}
