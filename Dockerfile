# A gateway: all servers over MCP, with the control API. It needs PROVEGYM_TOKEN, since it listens
# beyond loopback.
#   docker build --tag provegym .
#   docker run --publish 127.0.0.1:8765:8765 --env PROVEGYM_TOKEN="$(openssl rand -hex 32)" provegym
FROM python:3.12.11-slim-bookworm AS build
WORKDIR /source
RUN python -m venv /opt/provegym
COPY pyproject.toml README.md LICENSE ./
COPY configs configs
COPY provegym provegym
RUN /opt/provegym/bin/pip install --no-cache-dir '.[gateway]'

FROM python:3.12.11-slim-bookworm
RUN useradd --system --uid 10001 --create-home --shell /usr/sbin/nologin provegym
COPY --from=build /opt/provegym /opt/provegym
ENV PATH=/opt/provegym/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /home/provegym
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/healthz', timeout=2)"]
ENTRYPOINT ["provegym"]
CMD ["serve", "--http", "--host", "0.0.0.0", "--port", "8765"]
