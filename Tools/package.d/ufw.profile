[Talkaround]
title=Talkaround intercom
description=Push to talk on your own network: discovery and voice
ports=41717/udp
