import { UnreachableError } from '@lcm/client/client'
import { Command, CommanderError, Help, type Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { EXIT, exitCodeOf } from './cli-error.ts'
import type { Shell } from './command-dependencies.ts'
import { COMPLETE } from './completion/completion-suggestions.ts'
import { failureOf, failureText } from './failure-message.ts'
import { addGlobalOptions, type GlobalOptions, outputFor } from './global-options.ts'

type Define = (command: Command, shell: Shell, whole: () => Promise<Command>) => void

interface Group {
  readonly name: string
  readonly summary: string
  readonly alias?: string
  /** Hidden groups serve programs and are left out of the help. */
  readonly isHidden?: boolean
  /** Loads a group only when it is used, so that `lcm --version` stays fast. */
  load(): Promise<Define>
}

const GROUPS: readonly Group[] = [
  {
    name: 'up',
    summary: 'Run LCM on this machine: all services, the console and a simulated cloud',
    load: async () => (await import('./host/up-command.ts')).defineUp,
  },
  {
    name: 'serve',
    summary: 'Run one service as a separate process, coordinated through etcd',
    load: async () => (await import('./host/serve-command.ts')).defineServe,
  },
  {
    name: 'sim',
    summary: 'Run only the simulated cloud, for any AWS client',
    load: async () => (await import('./sim/sim-command.ts')).defineSim,
  },
  {
    name: 'chaos',
    summary: 'Inject faults into the simulated cloud',
    load: async () => (await import('./sim/chaos-command.ts')).defineChaos,
  },
  {
    name: 'get',
    summary:
      'List workers, templates, definitions, sessions, labs, saves, services, leaks, people, quotas, tokens, timings or notifications',
    load: async () => (await import('./verbs/get.ts')).defineGet,
  },
  {
    name: 'describe',
    summary: 'Show the details of a worker, definition, session, lab, save or service',
    load: async () => (await import('./verbs/describe.ts')).defineDescribe,
  },
  {
    name: 'why',
    summary: 'Explain the status of a worker or session, and what happens next',
    load: async () => (await import('./verbs/why.ts')).defineWhy,
  },
  {
    name: 'plan',
    summary: 'Show what each controller would do now, without doing it',
    load: async () => (await import('./plan/plan-command.ts')).definePlan,
  },
  {
    name: 'top',
    summary: 'Show the load and cost of each worker, live',
    load: async () => (await import('./fleet/top-command.ts')).defineTop,
  },
  {
    name: 'cost',
    summary: 'Show what the fleet cost, by worker and cause, and what pausing saved',
    load: async () => (await import('./fleet/cost-command.ts')).defineCost,
  },
  {
    name: 'forecast',
    summary: 'Show what the booked sessions will need and cost, and what other settings would cost',
    load: async () => (await import('./fleet/forecast-command.ts')).defineForecast,
  },
  {
    name: 'create',
    summary: 'Create a worker, template, definition, person, token or notification target',
    load: async () => (await import('./verbs/create.ts')).defineCreate,
  },
  {
    name: 'apply',
    summary: 'Create or update resources from files',
    load: async () => (await import('./apply/apply.ts')).defineApply,
  },
  {
    name: 'book',
    summary: 'Book a lab: create a session of a definition',
    load: async () => (await import('./session/book-command.ts')).defineBook,
  },
  {
    name: 'start',
    summary: 'Start a worker or a lab',
    load: async () => (await import('./worker/worker-lifecycle-commands.ts')).defineStart,
  },
  {
    name: 'stop',
    summary: 'Stop a worker and keep its disk, or stop a lab',
    load: async () => (await import('./worker/worker-lifecycle-commands.ts')).defineStop,
  },
  {
    name: 'drain',
    summary: 'Stop or terminate a worker when its last session has ended',
    load: async () => (await import('./worker/drain-worker.ts')).defineDrain,
  },
  {
    name: 'terminate',
    summary: 'Terminate a worker permanently',
    load: async () => (await import('./worker/worker-lifecycle-commands.ts')).defineTerminate,
  },
  {
    name: 'protect',
    summary: 'Protect a worker from termination',
    load: async () => (await import('./worker/protect-cordon.ts')).defineProtect,
  },
  {
    name: 'unprotect',
    summary: 'Remove the protection from termination',
    load: async () => (await import('./worker/protect-cordon.ts')).defineUnprotect,
  },
  {
    name: 'cordon',
    summary: 'Stop placing new sessions on a worker',
    load: async () => (await import('./worker/protect-cordon.ts')).defineCordon,
  },
  {
    name: 'uncordon',
    summary: 'Place new sessions on a worker again',
    load: async () => (await import('./worker/protect-cordon.ts')).defineUncordon,
  },
  {
    name: 'approve',
    summary: 'Let a machine that LCM did not launch get passwords, licenses and sessions',
    load: async () => (await import('./worker/approve-worker.ts')).defineApprove,
  },
  {
    name: 'repin',
    summary: 'Pin the new certificate of a CML',
    load: async () => (await import('./worker/approve-worker.ts')).defineRepin,
  },
  {
    name: 'retry',
    summary: 'Retry a failed worker, session or notification',
    load: async () => (await import('./worker/worker-lifecycle-commands.ts')).defineRetry,
  },
  {
    name: 'license',
    summary: 'Register or deregister the license of a worker',
    load: async () => (await import('./license/license-commands.ts')).defineLicense,
  },
  {
    name: 'set',
    summary: 'Set the CML account of a worker, or how much a person may book',
    load: async () => (await import('./verbs/set.ts')).defineSet,
  },
  {
    name: 'resolve',
    summary: 'Mark a leaked license as resolved',
    load: async () => (await import('./leak/resolve-leak.ts')).defineResolve,
  },
  {
    name: 'preview',
    summary: 'Show whether and where a session would run, without booking it',
    load: async () => (await import('./definition/preview-placement.ts')).definePreview,
  },
  {
    name: 'extend',
    summary: 'Extend a session',
    load: async () => (await import('./session/session-lifecycle-commands.ts')).defineExtend,
  },
  {
    name: 'cancel',
    summary: 'Cancel a session',
    load: async () => (await import('./session/session-lifecycle-commands.ts')).defineCancel,
  },
  {
    name: 'save',
    summary: 'Save the work in a running lab',
    load: async () => (await import('./save/save-commands.ts')).defineSave,
  },
  {
    name: 'download',
    summary: 'Download saved work',
    load: async () => (await import('./save/save-commands.ts')).defineDownload,
  },
  {
    name: 'requeue',
    summary: 'Return a session to the queue, to be placed again',
    load: async () => (await import('./session/session-lifecycle-commands.ts')).defineRequeue,
  },
  {
    name: 'move',
    summary: 'Move a session to another worker, from its last save',
    load: async () => (await import('./session/move-session.ts')).defineMove,
  },
  {
    name: 'wipe',
    summary: 'Erase the data that the nodes of a lab have stored',
    load: async () => (await import('./lab/lab-commands.ts')).defineWipe,
  },
  {
    name: 'edit',
    summary: 'Edit a template, person or notification target, or create the next version of a definition',
    load: async () => (await import('./verbs/edit.ts')).defineEdit,
  },
  {
    name: 'enable',
    summary: 'Allow new workers from a template',
    load: async () => (await import('./template/enable-template.ts')).defineEnable,
  },
  {
    name: 'disable',
    summary: 'Prevent new workers from a template',
    load: async () => (await import('./template/enable-template.ts')).defineDisable,
  },
  {
    name: 'sync',
    summary: 'Fetch the topology of a definition from its source again',
    load: async () => (await import('./definition/sync-definition.ts')).defineSync,
  },
  {
    name: 'deprecate',
    summary: 'Deprecate a definition, so that it can no longer be booked',
    load: async () => (await import('./definition/deprecate-definition.ts')).defineDeprecate,
  },
  {
    name: 'delete',
    alias: 'remove',
    summary: 'Delete a lab, definition, template, save, person, token, target, or the record of a TERMINATED worker',
    load: async () => (await import('./verbs/delete.ts')).defineDelete,
  },
  {
    name: 'events',
    summary: 'Show every change as it happens',
    load: async () => (await import('./fleet/events-command.ts')).defineEvents,
  },
  {
    name: 'audit',
    summary: 'Show who did what, newest first',
    load: async () => (await import('./fleet/audit-command.ts')).defineAudit,
  },
  {
    name: 'open',
    summary: 'Print a link that logs a browser in to the console',
    load: async () => (await import('./token/print-login-link.ts')).defineOpen,
  },
  {
    name: 'test',
    summary: 'Send a test message to a notification target',
    load: async () => (await import('./notification/target-commands.ts')).defineTest,
  },
  {
    name: 'invite',
    summary: 'Print a link that logs a person in once',
    load: async () => (await import('./person/person-commands.ts')).defineInvite,
  },
  {
    name: 'revoke',
    summary: 'End all tokens and sign-ins of a person',
    load: async () => (await import('./person/person-commands.ts')).defineRevoke,
  },
  {
    name: 'merge',
    summary: 'Merge a person into another, with all sessions and tokens',
    load: async () => (await import('./person/person-commands.ts')).defineMerge,
  },
  {
    name: 'doctor',
    summary: 'Check this LCM and everything it needs, and show how to fix problems',
    load: async () => (await import('../doctor/doctor-command.ts')).defineDoctor,
  },
  {
    name: 'backup',
    summary: 'Save the complete state of LCM to a file',
    load: async () => (await import('./backup/backup-command.ts')).defineBackup,
  },
  {
    name: 'restore',
    summary: 'Create a data folder from a backup file, without a running LCM',
    load: async () => (await import('./backup/restore-command.ts')).defineRestore,
  },
  {
    name: 'rotate-key',
    summary: 'Replace the secret key and seal every stored secret again',
    load: async () => (await import('./secret-key/rotate-key-command.ts')).defineRotateKey,
  },
  {
    name: 'services',
    summary: 'Trigger a service, change its leader or reset its term',
    load: async () => (await import('./service/service-commands.ts')).defineServices,
  },
  {
    name: 'completion',
    summary: 'Print a shell completion script',
    load: async () => (await import('./completion/completion-command.ts')).defineCompletion,
  },
  {
    name: COMPLETE,
    summary: 'List the words that can complete a command line',
    isHidden: true,
    load: async () => (await import('./completion/complete-command.ts')).defineComplete,
  },
  {
    name: '__reference',
    summary: 'Print the command reference page',
    isHidden: true,
    load: async () => (await import('./reference-command.ts')).referenceOf(HIDDEN),
  },
]

const HIDDEN: ReadonlySet<string> = new Set(GROUPS.flatMap(({ name, isHidden }) => (isHidden ? [name] : [])))

const EXAMPLES = `
Examples:
  lcm up                                       run LCM with a simulated cloud
  lcm create worker --template metal --wait    create a CML server and wait until it is ready
  lcm get workers --watch                      list the fleet and keep the list up to date
  lcm why worker metal-3                       explain the status of a worker
  lcm top                                      show load and cost, live
  lcm create definition --file bgp.yaml        define a lab that people can book
  lcm book bgp --wait                          book it now and print how to connect

ID is an id or a unique name; sessions have only ids. Exit codes: 0 ok, 1 failed, 2 usage error, 3 not found, 4 conflict,
5 not allowed, 6 unreachable.`

/** Runs one command line and returns its exit code. Never rejects. */
export async function run(args: readonly string[], shell: Shell): Promise<number> {
  const program = makeProgram(shell)
  try {
    await program.parseAsync(withHelp(args), { from: 'user' })
    return EXIT.ok
  } catch (error) {
    return report(error, program, shell)
  }
}

/** Rewrites `lcm help get` to `lcm get --help`: groups are only defined when they are parsed. */
function withHelp(args: readonly string[]): readonly string[] {
  if (args.length === 0) return ['--help']
  return args[0] === 'help' ? [...args.slice(1), '--help'] : args
}

function makeProgram(shell: Shell): Command {
  const program = new Command('lcm')
    .description('Manage fleets of Cisco Modeling Labs (CML) servers on AWS EC2.')
    .version(`lcm ${manifest.version}`, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show help for a command')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: text => shell.stdout.write(text),
      writeErr: text => shell.stderr.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true, optionDescription: describedOption })
    .showHelpAfterError('Run the command with --help to see its usage.')
    .addHelpText('after', EXAMPLES)
  addGlobalOptions(program)
  for (const { name, alias, summary, isHidden: hidden = false } of GROUPS) {
    const group = program.command(name, { hidden }).description(summary).helpCommand(false)
    if (alias !== undefined) group.alias(alias)
  }
  const whole = async () => {
    const fresh = makeProgram(shell)
    for (const command of fresh.commands) await define(command, shell, whole)
    return fresh
  }
  return program.hook('preSubcommand', (_, command) => define(command, shell, whole))
}

/** Marks mandatory options as required; Commander itself does not. */
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
  const failure = failureOf(error)
  outputFor(program.opts<GlobalOptions>(), shell).fail(failureText(failure), failure.details)
  return exitCodeOf(error)
}
