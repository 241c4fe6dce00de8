-- A wide, nested stream of vehicle signals, and pipelines that each look at a little of it.
-- Try:  narrows explain examples/vehicles.sql
--       narrows explain examples/vehicles.sql "SELECT vin, trip->legs[0]->from->lat FROM vehicles"

CREATE STREAM vehicles (
  vin        STRING,
  ts         TIMESTAMP,
  speed      DOUBLE,
  odometer   BIGINT,
  battery    STRUCT<soc: DOUBLE, voltage: DOUBLE, temperature: DOUBLE,
                    cells: ARRAY<STRUCT<voltage: DOUBLE, temperature: DOUBLE, cycles: INT>>>,
  position   STRUCT<lat: DOUBLE, lon: DOUBLE, heading: DOUBLE, accuracy: DOUBLE>,
  tyres      ARRAY<STRUCT<pressure: DOUBLE, temperature: DOUBLE, age_days: INT>>,
  trip       STRUCT<id: STRING, legs: ARRAY<STRUCT<`from`: STRUCT<lat: DOUBLE, lon: DOUBLE>,
                                                   `to`: STRUCT<lat: DOUBLE, lon: DOUBLE>, km: DOUBLE>>>,
  faults     ARRAY<STRUCT<code: STRING, severity: INT, text: STRING>>,
  labels     MAP<STRING, STRING>
) WITH (connector = 'file', path = 'data/vehicles', format = 'json',
        eventtime = 'ts', watermark = '10 seconds');

CREATE TABLE fleets (vin STRING, fleet STRING, region STRING)
WITH (connector = 'file', path = 'data/fleets', format = 'parquet');

CREATE SINK alerts    WITH (connector = 'file', path = 'out/alerts', format = 'json');
CREATE SINK dashboard WITH (connector = 'file', path = 'out/dashboard', format = 'json');

-- Two leaves of the front left tyre, one key of the labels.
CREATE PIPELINE low_pressure INTO alerts AS
SELECT vin, tyres[0]->pressure AS front_left, labels['depot'] AS depot
FROM vehicles
WHERE tyres[0]->pressure < 1.8;

-- How many cells a battery has, without decoding one; the faults' codes, without their texts.
CREATE PIPELINE battery_health INTO dashboard AS
SELECT vin, size(battery->cells) AS cells, battery->soc,
       transform(faults, f -> f->code) AS codes
FROM vehicles;

-- The window counts rows: of the stream it needs the key and the time, nothing else.
CREATE PIPELINE traffic INTO dashboard AS
SELECT f.region, count(*) AS messages, window_end() AS until
FROM vehicles v JOIN fleets f ON v.vin = f.vin
GROUP BY f.region, tumblingwindow('ss', 60);
