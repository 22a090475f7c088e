import { UserData, WorkerTemplate, WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { z } from 'zod'
import { listOf, Page } from './common-schemas.ts'
import { EVERYONE, OPERATORS, type RouteSpec, WORKER_CONTROLLER } from './route-spec.ts'

export const TemplateList = listOf(WorkerTemplate).meta({ id: 'TemplateList', description: 'A page of templates.' })

export const CreateTemplate = WorkerTemplateSpec.extend({
  user_data: UserData.nullable().optional().meta({
    description: 'User data that machines get at their first boot, at most 16 KB. Write-only: it may contain secrets.',
  }),
}).meta({ id: 'CreateTemplate', description: 'A template to create.' })

export const PutTemplate = CreateTemplate.omit({ name: true }).meta({
  id: 'PutTemplate',
  description: 'Replaces a template. Omitted user data stays; null removes it.',
})

const UserDataQuery = z.strictObject({
  ref: z.string().max(64).optional().meta({
    description:
      'The revision that a launch attempt names; by default the newest. The previous one is kept for repeats.',
  }),
})
export const TemplateUserData = z
  .object({
    user_data: UserData.nullable().meta({ description: 'The user data; null if there is none.', example: null }),
  })
  .meta({ id: 'TemplateUserData', description: 'The user data of a template.' })

/** Fits the longest user data however its text is escaped. */
const TEMPLATE_BYTES_MAX = 128 * 1024

const TEMPLATE_NAME = { name: { description: 'The name of the template.', example: 'metal' } } as const

const switchTemplate = (verb: 'enable' | 'disable', summary: string, description: string) =>
  ({
    method: 'POST',
    path: `/worker-templates/{name}/${verb}`,
    params: TEMPLATE_NAME,
    summary,
    description,
    access: OPERATORS,
    status: 202,
    answer: WorkerTemplate,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch'],
  }) as const satisfies RouteSpec

const NARROW_TEMPLATE = 'For users and authors image, instance profile and subnets are hidden.'

export const TEMPLATE_ROUTES = {
  listTemplates: {
    method: 'GET',
    path: '/worker-templates',
    summary: 'List worker templates',
    description: `Returns the templates that workers can be created from. ${NARROW_TEMPLATE}`,
    access: EVERYONE,
    query: Page,
    status: 200,
    answer: TemplateList,
    problems: [],
  },
  createTemplate: {
    method: 'POST',
    path: '/worker-templates',
    summary: 'Create a worker template',
    description: 'Creates a template with a new name.',
    access: OPERATORS,
    body: CreateTemplate,
    bodyBytesMax: TEMPLATE_BYTES_MAX,
    status: 201,
    answer: WorkerTemplate,
    location: '/worker-templates/{name}',
    idempotent: true,
    problems: ['already_exists'],
  },
  getTemplate: {
    method: 'GET',
    path: '/worker-templates/{name}',
    params: TEMPLATE_NAME,
    summary: 'Get a worker template',
    description: `Returns one template. ${NARROW_TEMPLATE}`,
    access: EVERYONE,
    status: 200,
    answer: WorkerTemplate,
    problems: ['not_found'],
  },
  putTemplate: {
    method: 'PUT',
    path: '/worker-templates/{name}',
    params: TEMPLATE_NAME,
    summary: 'Replace a worker template',
    description: 'Replaces a template. Existing workers keep the values that they were created with.',
    access: OPERATORS,
    body: PutTemplate,
    bodyBytesMax: TEMPLATE_BYTES_MAX,
    status: 200,
    answer: WorkerTemplate,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch'],
  },
  deleteTemplate: {
    method: 'DELETE',
    path: '/worker-templates/{name}',
    params: TEMPLATE_NAME,
    summary: 'Delete a worker template',
    description: 'Deletes a template that no worker uses.',
    access: OPERATORS,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'template_in_use'],
  },
  enableTemplate: switchTemplate('enable', 'Enable a worker template', 'Allows new workers to be created from it.'),
  disableTemplate: switchTemplate(
    'disable',
    'Disable a worker template',
    'Refuses new workers of this template. Existing workers stay.',
  ),
  getTemplateUserData: {
    method: 'GET',
    path: '/worker-templates/{name}/user-data',
    params: TEMPLATE_NAME,
    summary: 'Get the user data of a template',
    description: 'Returns the user data that machines get at their first boot.',
    access: WORKER_CONTROLLER,
    query: UserDataQuery,
    status: 200,
    answer: TemplateUserData,
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteSpec>
