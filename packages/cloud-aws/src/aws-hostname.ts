/** Host of a service in a region. China has its own domain. */
export const awsHost = (service: string, region: string): string =>
  `${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
