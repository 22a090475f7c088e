/** Responses with every member that is read, so that damage affects every reader. */
const machineXml = (id: string): string => `<item><instanceId>${id}</instanceId><imageId>ami-0a1b</imageId>
<instanceState><code>16</code><name>running</name></instanceState><privateIpAddress>10.0.0.7</privateIpAddress>
<ipAddress>198.51.100.7</ipAddress><instanceType>m5zn.metal</instanceType><launchTime>2026-03-01T12:00:00.000Z</launchTime>
<placement><availabilityZone>us-east-1a</availabilityZone></placement><clientToken>token-1</clientToken>
<stateReason><code>Server.SpotInstanceTermination</code><message>gone</message></stateReason><ebsOptimized>true</ebsOptimized>
<cpuOptions><coreCount>24</coreCount><threadsPerCore>2</threadsPerCore></cpuOptions>
<tagSet><item><key>Name</key><value>one</value></item><item><key>lcm:fleet</key><value>a</value></item></tagSet></item>`

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
const NAMESPACE = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'

export const MACHINES_XML = `${HEAD}<DescribeInstancesResponse ${NAMESPACE}><requestId>q</requestId><reservationSet>
<item><reservationId>r-1</reservationId><instancesSet>${machineXml('i-1')}${machineXml('i-2')}</instancesSet></item>
<item><reservationId>r-2</reservationId><instancesSet>${machineXml('i-3')}</instancesSet></item>
</reservationSet></DescribeInstancesResponse>`

export const LAUNCHED_XML = `${HEAD}<RunInstancesResponse ${NAMESPACE}><reservationId>r-1</reservationId>
<instancesSet>${machineXml('i-1')}</instancesSet></RunInstancesResponse>`

const imageXml = (id: string, year: number): string => `<item><imageId>${id}</imageId><imageState>available</imageState>
<name>cml-2.9-${id}</name><creationDate>${year}-01-01T00:00:00.000Z</creationDate><isPublic>false</isPublic>
<rootDeviceName>/dev/sda1</rootDeviceName></item>`

export const IMAGES_XML = `${HEAD}<DescribeImagesResponse ${NAMESPACE}><imagesSet>
${imageXml('ami-1', 2025)}${imageXml('ami-2', 2026)}</imagesSet></DescribeImagesResponse>`

const changeXml = (id: string): string => `<item><instanceId>${id}</instanceId>
<currentState><code>64</code><name>stopping</name></currentState><previousState><code>16</code><name>running</name></previousState></item>`

export const POWERED_XML = `${HEAD}<StopInstancesResponse ${NAMESPACE}><instancesSet>
${changeXml('i-1')}${changeXml('i-2')}</instancesSet></StopInstancesResponse>`

export const REFUSED_XML = `${HEAD}<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code>
<Message>The instance IDs 'i-1, i-3' do not exist</Message></Error></Errors><RequestID>q</RequestID></Response>`

/** Start times of the complete periods. */
export const METRICS_NOW_MS = Date.parse('2026-03-01T12:02:00Z')
const PERIODS = [1, 2].map(n => Date.parse('2026-03-01T12:00:00Z') / 1000 - 300 * n)

export const METRICS_JSON = JSON.stringify({
  MetricDataResults: ['cpu_utilization_0', 'memory_utilization_0', 'network_in_bytes_0'].map(Id => ({
    ...{ Id, Label: 'x', StatusCode: 'Complete' },
    ...{ Timestamps: PERIODS, Values: [12.5, 14] },
  })),
  Messages: [],
})
