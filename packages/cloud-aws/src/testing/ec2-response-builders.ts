/** Minimal responses of EC2, as the SDK parses them. */
export const instanceXml = (id: string, state = 'running') =>
  `<item><instanceId>${id}</instanceId><instanceState><code>16</code><name>${state}</name></instanceState></item>`

export const pageXml = (ids: readonly string[], next = '') =>
  `<DescribeInstancesResponse><reservationSet>${ids
    .map(id => `<item><reservationId>r</reservationId><instancesSet>${instanceXml(id)}</instancesSet></item>`)
    .join('')}</reservationSet>${next && `<nextToken>${next}</nextToken>`}</DescribeInstancesResponse>`

export const errorXml = (code: string, message = 'no') =>
  `<Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors></Response>`

export const changesXml = (ids: readonly string[], state: string) =>
  `<r><instancesSet>${ids
    .map(id => `<item><instanceId>${id}</instanceId><currentState><name>${state}</name></currentState></item>`)
    .join('')}</instancesSet></r>`

/** The ids that a request names. */
export const requestedIds = (body: string): readonly string[] =>
  [...new URLSearchParams(body)].filter(([name]) => name.startsWith('InstanceId.')).map(([, value]) => value)
