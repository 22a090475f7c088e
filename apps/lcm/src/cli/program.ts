import { UnreachableError } from '@lcm/client/api-error'
import { Command, CommanderError, Help, type Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { COMPLETE } from './completion/completion.ts'
import { EXIT, exitCodeOf } from './exit-code.ts'
import { failureOf } from './failure.ts'
import { addGlobalOptions, type GlobalOptions, outputFor } from './global-options.ts'
import type { Shell } from './shell.ts'

type Define = (command: Command, shell: Shell, whole: () => Promise<Command>) => void

interface Group {
  readonly name: string
  readonly summary: string
  /** For programs, not for people. */
  readonly isHidden?: boolean
  /** Loaded only when it is used, so that `lcm --version` need not read the whole product. */
  load(): Promise<Define>
}

const GROUPS: readonly Group[] = [
  {
    name: 'up',
    summary: 'run LCM on this machine: all services, the console and a simulated cloud',
    load: async () => (await import('./host/up.ts')).defineUp,
  },
  {
    name: 'serve',
    summary: 'run one service as a process of its own, on etcd',
    load: async () => (await import('./host/serve.ts')).defineServe,
  },
  {
    name: 'sim',
    summary: 'run the simulated cloud alone, for anything that speaks to AWS',
    load: async () => (await import('./sim/sim.ts')).defineSim,
  },
  {
    name: 'chaos',
    summary: 'harm the simulated cloud behind the back of LCM, and watch it heal',
    load: async () => (await import('./sim/chaos.ts')).defineChaos,
  },
  {
    name: 'get',
    summary: 'list workers, templates, definitions, sessions, labs, services, leaks or tokens, or show one',
    load: async () => (await import('./verbs/get.ts')).defineGet,
  },
  {
    name: 'describe',
    summary: 'show all there is to know about a worker, definition, session, lab or service',
    load: async () => (await import('./verbs/describe.ts')).defineDescribe,
  },
  {
    name: 'why',
    summary: 'explain a worker or a session: why it is where it is, and what happens next',
    load: async () => (await import('./verbs/why.ts')).defineWhy,
  },
  {
    name: 'plan',
    summary: 'what every controller would do now, without doing it',
    load: async () => (await import('./fleet/plan.ts')).definePlan,
  },
  {
    name: 'top',
    summary: 'the fleet, live: how busy each worker is and what it costs',
    load: async () => (await import('./fleet/top.ts')).defineTop,
  },
  {
    name: 'cost',
    summary: 'what the fleet has cost, what for, and what pausing saved',
    load: async () => (await import('./fleet/cost.ts')).defineCost,
  },
  {
    name: 'create',
    summary: 'ask for a worker, add a template or a definition, make a token',
    load: async () => (await import('./verbs/create.ts')).defineCreate,
  },
  {
    name: 'apply',
    summary: 'make templates, definitions and workers as files say they are to be',
    load: async () => (await import('./apply/apply.ts')).defineApply,
  },
  {
    name: 'book',
    summary: 'book a lab: a session of a definition',
    load: async () => (await import('./session/book-session.ts')).defineBook,
  },
  {
    name: 'start',
    summary: 'want a worker RUNNING, or have a lab started',
    load: async () => (await import('./worker/worker-lifecycle.ts')).defineStart,
  },
  {
    name: 'stop',
    summary: 'want a worker STOPPED, its disk kept, or have a lab stopped',
    load: async () => (await import('./worker/worker-lifecycle.ts')).defineStop,
  },
  {
    name: 'drain',
    summary: 'give a worker no new sessions, and stop or terminate it when it is empty',
    load: async () => (await import('./worker/drain-worker.ts')).defineDrain,
  },
  {
    name: 'terminate',
    summary: 'want a worker gone for good',
    load: async () => (await import('./worker/worker-lifecycle.ts')).defineTerminate,
  },
  {
    name: 'protect',
    summary: 'let nobody terminate a worker',
    load: async () => (await import('./worker/protect-cordon.ts')).defineProtect,
  },
  {
    name: 'unprotect',
    summary: 'let a worker be terminated again',
    load: async () => (await import('./worker/protect-cordon.ts')).defineUnprotect,
  },
  {
    name: 'cordon',
    summary: 'give a worker no new sessions',
    load: async () => (await import('./worker/protect-cordon.ts')).defineCordon,
  },
  {
    name: 'uncordon',
    summary: 'give a worker sessions again',
    load: async () => (await import('./worker/protect-cordon.ts')).defineUncordon,
  },
  {
    name: 'retry',
    summary: 'try again what failed of a worker or a session',
    load: async () => (await import('./worker/worker-lifecycle.ts')).defineRetry,
  },
  {
    name: 'license',
    summary: 'register the licence of a worker, or give it back',
    load: async () => (await import('./worker/license.ts')).defineLicense,
  },
  {
    name: 'set',
    summary: 'set the CML account that LCM logs in with on a worker',
    load: async () => (await import('./worker/set-credentials.ts')).defineSet,
  },
  {
    name: 'resolve',
    summary: 'say that a leaked licence has been dealt with',
    load: async () => (await import('./leak/resolve-leak.ts')).defineResolve,
  },
  {
    name: 'preview',
    summary: 'see where a session would be placed, without booking it',
    load: async () => (await import('./definition/preview-placement.ts')).definePreview,
  },
  {
    name: 'extend',
    summary: 'let a session last longer',
    load: async () => (await import('./session/session-commands.ts')).defineExtend,
  },
  {
    name: 'cancel',
    summary: 'end a session before its time',
    load: async () => (await import('./session/session-commands.ts')).defineCancel,
  },
  {
    name: 'requeue',
    summary: 'have a session placed anew',
    load: async () => (await import('./session/session-commands.ts')).defineRequeue,
  },
  {
    name: 'wipe',
    summary: 'throw away what the nodes of a lab have stored',
    load: async () => (await import('./lab/lab-commands.ts')).defineWipe,
  },
  {
    name: 'edit',
    summary: 'say a definition anew, as its next version, or a template',
    load: async () => (await import('./verbs/edit.ts')).defineEdit,
  },
  {
    name: 'enable',
    summary: 'let new workers be made from a template',
    load: async () => (await import('./template/enable-template.ts')).defineEnable,
  },
  {
    name: 'disable',
    summary: 'let no new workers be made from a template',
    load: async () => (await import('./template/enable-template.ts')).defineDisable,
  },
  {
    name: 'sync',
    summary: 'fetch the topology of a definition from its source again',
    load: async () => (await import('./definition/sync-definition.ts')).defineSync,
  },
  {
    name: 'deprecate',
    summary: 'take a definition out of use',
    load: async () => (await import('./definition/deprecate-definition.ts')).defineDeprecate,
  },
  {
    name: 'delete',
    summary: 'remove the record of a TERMINATED worker, a definition, a lab, a template or a token',
    load: async () => (await import('./verbs/delete.ts')).defineDelete,
  },
  {
    name: 'events',
    summary: 'follow every change as it happens',
    load: async () => (await import('./fleet/events.ts')).defineEvents,
  },
  {
    name: 'audit',
    summary: 'who did what, newest first',
    load: async () => (await import('./fleet/audit.ts')).defineAudit,
  },
  {
    name: 'open',
    summary: 'print a link that logs a browser into the console',
    load: async () => (await import('./token/login-link.ts')).defineOpen,
  },
  {
    name: 'doctor',
    summary: 'find out what is wrong with this LCM and what it needs, and what to do about it',
    load: async () => (await import('../doctor/doctor-command.ts')).defineDoctor,
  },
  {
    name: 'backup',
    summary: 'save everything that LCM keeps into one file',
    load: async () => (await import('./backup/backup.ts')).defineBackup,
  },
  {
    name: 'restore',
    summary: 'make a data folder from such a file; no LCM need run',
    load: async () => (await import('./backup/restore.ts')).defineRestore,
  },
  {
    name: 'services',
    summary: 'what an administrator may do to the services themselves',
    load: async () => (await import('./service/service-commands.ts')).defineServices,
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands in your shell',
    load: async () => (await import('./completion/completion-command.ts')).defineCompletion,
  },
  {
    name: COMPLETE,
    summary: 'what a shell may offer',
    isHidden: true,
    load: async () => (await import('./completion/completion-command.ts')).defineComplete,
  },
  {
    name: '__reference',
    summary: 'the page of the documentation about all of these',
    isHidden: true,
    load: async () => (await import('./reference-command.ts')).referenceOf(HIDDEN),
  },
]

/** For programs, not for people. */
const HIDDEN: ReadonlySet<string> = new Set(GROUPS.flatMap(({ name, isHidden }) => (isHidden ? [name] : [])))

const EXAMPLES = `
Examples:
  lcm up                                       run LCM with a simulated cloud
  lcm create worker --template metal --wait    a new CML server, ready to use
  lcm get workers --watch                      the fleet, live
  lcm why worker metal-3                       why it is where it is
  lcm top                                      who is busy, and what it costs
  lcm create definition --file bgp.yaml        a lab that people can book
  lcm book bgp --wait                          book it now, and get the ways in

ID is an id or a unique name; sessions have ids alone. Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict,
5 not allowed, 6 unreachable.`

/** Runs one command line and answers its exit code. It never rejects. */
export async function run(args: readonly string[], shell: Shell): Promise<number> {
  const program = makeProgram(shell)
  try {
    await program.parseAsync(withHelp(args), { from: 'user' })
    return EXIT.ok
  } catch (error) {
    return report(error, program, shell)
  }
}

/** Groups are defined when they are parsed, so `lcm help get` must go the way of `lcm get --help`. */
function withHelp(args: readonly string[]): readonly string[] {
  if (args.length === 0) return ['--help']
  return args[0] === 'help' ? [...args.slice(1), '--help'] : args
}

function makeProgram(shell: Shell): Command {
  const program = new Command('lcm')
    .description('Runs fleets of Cisco Modeling Labs servers on AWS EC2.')
    .version(`lcm ${manifest.version}`, '-V, --version', 'print the version')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: text => shell.stdout.write(text),
      writeErr: text => shell.stderr.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true, optionDescription: describedOption })
    .showHelpAfterError('Add --help to see how it is used.')
    .addHelpText('after', EXAMPLES)
  addGlobalOptions(program)
  for (const { name, summary, isHidden: hidden = false } of GROUPS)
    program.command(name, { hidden }).description(summary).helpCommand(false)
  const whole = async () => {
    const fresh = makeProgram(shell)
    for (const command of fresh.commands) await define(command, shell, whole)
    return fresh
  }
  return program.hook('preSubcommand', (_, command) => define(command, shell, whole))
}

/** Commander itself would not tell which options can't be left out. */
function describedOption(option: Option): string {
  const text = new Help().optionDescription(option)
  return option.mandatory ? `${text} (required)` : text
}

async function define(command: Command, shell: Shell, whole: () => Promise<Command>): Promise<void> {
  const group = GROUPS.find(({ name }) => name === command.name())
  if (group) (await group.load())(command, shell, whole)
}

function report(error: unknown, program: Command, shell: Shell): number {
  if (error instanceof CommanderError) return exitCodeOf(error)
  const { unread } = shell.stdout
  if (unread.aborted && error === unread.reason) return EXIT.ok
  const { aborted, reason } = shell.signal
  if (aborted && (error instanceof UnreachableError || error === reason)) return EXIT.interrupted
  const { sentence, details } = failureOf(error)
  outputFor(program.opts<GlobalOptions>(), shell).fail(sentence, details)
  return exitCodeOf(error)
}
