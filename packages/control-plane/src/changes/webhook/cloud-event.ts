import type { EventEnvelope } from '@lcm/contract/events'
import type { PositionedChange } from '@lcm/store/store'

export const CLOUD_EVENT_MEDIA_TYPE = 'application/cloudevents+json'

/** CloudEvents 1.0, structured. The position makes the id, so that whoever gets an event twice can tell. */
export const cloudEventOf = (event: EventEnvelope, change: PositionedChange, source: string) => ({
  specversion: '1.0',
  id: change.position,
  source,
  type: `io.lablet.${event.type}`,
  subject: change.id,
  time: event.at,
  datacontenttype: 'application/json',
  data: 'data' in event ? event.data : null,
})
