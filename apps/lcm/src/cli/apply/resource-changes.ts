import { type Client, unlessMissing } from '@lcm/client/client'
import type { AnswerOf } from '@lcm/contract/routes'
import { PatchWorker } from '@lcm/contract/worker'
import type { Worker } from '@lcm/domain/worker/worker'
import { CliError, EXIT } from '../cli-error.ts'
import { type Warned, warningLines } from '../definition/definition-view.ts'
import { findDefinition, livingWorkers, notThere } from '../find-resource.ts'
import { type Change, changesOf } from './field-changes.ts'
import type { Kind, Manifest } from './manifests.ts'

export type Outcome = 'created' | 'changed' | 'unchanged'

/** The planned change of one resource. */
export interface Step {
  readonly kind: Kind
  readonly name: string
  readonly outcome: Outcome
  readonly changes: readonly Change[]
  perform(): Promise<Performed>
}

/** The outcome of a change, and what the API warns of. */
export interface Performed {
  readonly outcome: Outcome
  readonly warnings: readonly string[]
}

const performed = (outcome: Outcome, answer: object = {}): Performed => ({
  outcome,
  warnings: 'warnings' in answer ? warningLines(answer as Warned) : [],
})

type Of<K extends Kind> = Extract<Manifest, { kind: K }>

/** Compares a document with the current resource and plans the change; refuses impossible changes. */
export function stepFor(
  client: Client,
  manifest: Manifest,
  all: readonly Manifest[],
  signal: AbortSignal,
): Promise<Step> {
  switch (manifest.kind) {
    case 'Template':
      return templateStep(client, manifest, signal)
    case 'Definition':
      return definitionStep(client, manifest, signal)
    case 'LicensePool':
      return licensePoolStep(client, manifest, signal)
    case 'Worker': {
      const { template_name } = manifest.given
      const template = all.find(each => each.kind === 'Template' && each.name === template_name)
      return workerStep(client, manifest, template?.kind === 'Template' ? template : null, signal)
    }
  }
}

/** Refuses a new resource that lacks required fields; only existing resources may omit them. */
function refuseIncomplete({ kind, name, lacks }: Manifest): never {
  const words = `${kind.toLowerCase()} ${name} does not exist, and creating it also needs ${lacks.join(', ')}`
  throw new CliError(EXIT.failed, words, 'add these fields and try again')
}

const creating = ({ kind, name }: Manifest, create: () => Promise<object>): Step => ({
  kind,
  name,
  outcome: 'created',
  changes: [],
  async perform() {
    return performed('created', await create())
  },
})

interface Versioned {
  readonly id: string
  readonly version: number
}

/** `change` returns the updated resource; an equal version means that nothing changed. */
const changing = (
  { kind, name }: Manifest,
  current: Versioned,
  changes: readonly Change[],
  change: () => Promise<Versioned>,
): Step => ({
  kind,
  name,
  outcome: changes.length === 0 ? 'unchanged' : 'changed',
  changes,
  async perform() {
    if (changes.length === 0) return performed('unchanged')
    const after = await change()
    const isSame = after.id === current.id && after.version === current.version
    return performed(isSame ? 'unchanged' : 'changed', after)
  },
})

const SECRET = { from: '(secret)', to: '(secret)' }

async function templateStep(client: Client, manifest: Of<'Template'>, signal: AbortSignal): Promise<Step> {
  const { name, given } = manifest
  const current = await unlessMissing(client.call('getTemplate', { params: { name }, signal }))
  if (current === null) {
    const body = manifest.spec ?? refuseIncomplete(manifest)
    return creating(manifest, () => client.call('createTemplate', { body, signal }))
  }
  const { user_data, name: _, ...fields } = given
  // user_data can't be read back, so only the API can tell whether it changed.
  const secret =
    user_data == null ? (user_data === null && current.has_user_data ? [{ ...SECRET, to: null }] : []) : [SECRET]
  const changes = [...changesOf(current, fields), ...secret.map(change => ({ field: 'user_data', ...change }))]
  const body = { ...specOf(current), ...fields, ...('user_data' in given ? { user_data } : {}) }
  return changing(manifest, current, changes, () =>
    client.call('putTemplate', { params: { name }, body, ifMatch: current.version, signal }),
  )
}

async function licensePoolStep(client: Client, manifest: Of<'LicensePool'>, signal: AbortSignal): Promise<Step> {
  const { name, given } = manifest
  const current = await unlessMissing(client.call('getLicensePool', { params: { product: name }, signal }))
  if (current === null) {
    const { seats, token } = manifest.spec ?? refuseIncomplete(manifest)
    return creating(manifest, () => client.call('createLicensePool', { body: { product: name, seats, token }, signal }))
  }
  const { seats = current.seats, token } = given
  // A token can't be read back, so only the API can tell whether it changed.
  const secret = token === undefined ? [] : [{ field: 'token', ...SECRET }]
  const body = { seats, ...(token === undefined ? {} : { token }) }
  return changing(manifest, current, [...changesOf(current, { seats }), ...secret], () =>
    client.call('putLicensePool', { params: { product: name }, body, ifMatch: current.version, signal }),
  )
}

/** The fields of a template that users can set. */
function specOf(template: AnswerOf<'getTemplate'>) {
  const { id: _, version: __, created_at: ___, updated_at: ____, name: _____, ...rest } = template
  const { has_user_data: ______, secret_refs: _______, seeded_from_sha256: ________, ...spec } = rest
  return spec
}

async function definitionStep(client: Client, manifest: Of<'Definition'>, signal: AbortSignal): Promise<Step> {
  const { name, given } = manifest
  const current = await findDefinition(client, name, signal).catch((error: unknown) => {
    if (error instanceof CliError && error.exitCode === EXIT.notFound) return null
    throw error
  })
  if (current === null) {
    const body = manifest.spec ?? refuseIncomplete(manifest)
    return creating(manifest, () => client.call('createDefinition', { body, signal }))
  }
  if (current.status === 'DEPRECATED')
    throw new CliError(
      EXIT.conflict,
      `definition ${name} is DEPRECATED, which can't be undone`,
      'choose another name, or delete it first',
    )
  const { name: _, ...fields } = given
  const body = fields.topology === undefined ? fields : { source: 'inline', ...fields }
  const changes = changesOf(
    comparable(await client.call('getDefinition', { params: { id: current.id }, signal })),
    body,
  )
  return changing(manifest, current, changes, () =>
    client.call('putDefinition', { params: { id: current.id }, body, ifMatch: current.version, signal }),
  )
}

/** Replaces values derived from the topology by their empty defaults, so that only fields set by the author are compared. */
function comparable({ given, title, needs, port_template, cml_version, ...rest }: AnswerOf<'getDefinition'>): object {
  return {
    ...rest,
    title: given.title ? title : '',
    needs: given.needs ? needs : null,
    port_template: given.port_template ? port_template : null,
    cml_version: given.cml_min ? cml_version : { ...cml_version, min: null },
  }
}

async function workerStep(
  client: Client,
  manifest: Of<'Worker'>,
  template: Of<'Template'> | null,
  signal: AbortSignal,
): Promise<Step> {
  const { name, given } = manifest
  const living = await livingWorkers(client, name, signal)
  const [current, ...others] = living
  if (others.length > 0)
    throw new CliError(EXIT.conflict, `${living.length} workers are named ${name}`, 'give them unique names first')
  if (current === undefined) {
    const body = manifest.spec ?? refuseIncomplete(manifest)
    await refuseUnusable(client, body.template_name, template, signal)
    return creating(manifest, () => client.call('createWorker', { body, signal }))
  }
  refuseFixed(current, given)
  const { template_name: _, aws_region: __, name: ___, license, ...fields } = given
  const product = license === undefined ? {} : { license: { product: license.product } }
  const licensed = { ...fields, ...product }
  const shown = { ...current, license: { product: current.license.product } }
  const changes = changesOf(shown, licensed)
  return changing(manifest, current, changes, () =>
    client.call('patchWorker', {
      params: { id: current.id },
      body: PatchWorker.parse(licensed),
      ifMatch: current.version,
      signal,
    }),
  )
}

/** `document` is the template document of the same files, which is applied first. */
async function refuseUnusable(
  client: Client,
  name: string,
  document: Of<'Template'> | null,
  signal: AbortSignal,
): Promise<void> {
  const current = await unlessMissing(client.call('getTemplate', { params: { name }, signal }))
  if (document === null && current === null) throw notThere('template', name, 'lcm get templates')
  if (document?.given.enabled ?? current?.enabled ?? true) return
  throw new CliError(EXIT.failed, `template ${name} is disabled`, 'enable it first')
}

/** The template and region of a worker can't change. */
function refuseFixed(current: Worker, given: Of<'Worker'>['given']): void {
  const fixed = changesOf(current, { template_name: given.template_name, aws_region: given.aws_region })
  const [first] = fixed
  if (first === undefined) return
  const words = `its ${first.field} is ${String(first.from)} and can't change to ${String(first.to)}`
  throw new CliError(EXIT.conflict, `worker ${current.name}: ${words}`, 'terminate it first, or use another name')
}
