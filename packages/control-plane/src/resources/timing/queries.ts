import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { type Timings, timingsOf } from '@lcm/domain/calendar/timings'
import type { Api, Request } from '../../api-context.ts'
import { listAll, listPage } from '../list-documents.ts'

export const listTimings = (
  api: Api,
  { query }: Request<object, QueryOf<'listTimings'>, unknown>,
): Promise<AnswerOf<'listTimings'>> => listPage(api, api.timings, query, {})

export const currentTimings = async (api: Api): Promise<Timings> => timingsOf(await listAll(api.timings))
